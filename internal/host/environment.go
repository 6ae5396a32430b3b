package host

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Environment is what a figure was measured on. It is printed with every
// result, since a figure without it cannot be compared with another.
type Environment struct {
	OS         string   `json:"os"`
	Arch       string   `json:"arch"`
	Kernel     string   `json:"kernel"`
	CPU        string   `json:"cpu"` // model
	CPUs       int      `json:"cpus"`
	Cores      int      `json:"cores"`        // physical cores, as far as the CPU tells; 0 if it does not
	AllowedCPU []int    `json:"allowed_cpus"` // of the thread that asked
	GOMAXPROCS int      `json:"gomaxprocs"`   // at most the CPU quota of the cgroup
	Hypervisor string   `json:"hypervisor"`   // empty on bare metal, "unknown" if it does not tell
	Features   []string `json:"features"`     // of the CPU, those that matter to TLS
	// Governor says how the kernel chooses the frequency, such as performance;
	// several, if CPUs differ. Both it and the frequencies, of CPU 0 and in
	// hertz, are empty where the hypervisor keeps them to itself.
	Governor     string `json:"governor"`
	Frequency    int64  `json:"frequency_hz"`
	FrequencyMax int64  `json:"frequency_max_hz"`
	ClockSource  string `json:"clock_source"` // that the kernel tells the time by
	Memory       int64  `json:"memory_bytes"`
	GoVersion    string `json:"go_version"`
	// Steal is filled in by who measures, from two ReadCPUTimes; nil is unknown.
	Steal    *float64   `json:"steal_percent"`
	Limits   *Limits    `json:"limits"`
	Software []Software `json:"software"`
	// NotSeen says why fields above are empty or null.
	NotSeen []string `json:"not_seen"`
}

// Software is an installed program that may serve or measure TLS.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Library string `json:"library"` // TLS library, if it is another's and the program says
	Path    string `json:"path"`
}

// Describe looks at the machine and at the programs installed. What it cannot
// see is listed in NotSeen. It runs each program once to ask for its version,
// and stops asking when ctx ends.
func Describe(ctx context.Context) Environment {
	e := Environment{
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		CPU:        strings.TrimSpace(cpuid.CPU.BrandName),
		CPUs:       runtime.NumCPU(),
		Cores:      cpuid.CPU.PhysicalCores,
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Hypervisor: hypervisor(),
		Features:   features(),
		GoVersion:  runtime.Version(),
		NotSeen:    []string{},
	}
	missing := func(err error) {
		if err != nil {
			e.NotSeen = append(e.NotSeen, err.Error())
		}
	}
	if e.CPU == "" {
		missing(errors.New("host: CPU model: the CPU does not tell"))
	}
	missing(e.readFrequency("/sys/devices/system/cpu"))
	var err error
	e.ClockSource, err = clockSource()
	missing(err)
	e.Kernel, err = kernel()
	missing(err)
	e.Memory, err = memory()
	missing(err)
	e.AllowedCPU, err = AllowedCPUs()
	missing(err)
	if limits, err := ReadLimits(); err != nil {
		missing(err)
	} else {
		e.Limits = &limits
	}
	var failures []error
	e.Software, failures = installed(ctx)
	for _, err := range failures {
		missing(err)
	}
	return e
}

// hypervisor names what the machine runs under, or is empty.
func hypervisor() string {
	if !cpuid.CPU.Supports(cpuid.HYPERVISOR) {
		return ""
	}
	if id := cpuid.CPU.HypervisorVendorID; id != cpuid.VendorUnknown {
		return id.String()
	}
	return "unknown"
}

// features lists those CPU features that decide how fast TLS is, by the names
// people know them by.
func features() []string {
	names := []string{}
	for id, name := range map[cpuid.FeatureID]string{
		// x86: AES and GCM, hashes, wide multiplication for RSA and curves, vectors.
		cpuid.AESNI:      "AES-NI",
		cpuid.CLMUL:      "PCLMULQDQ",
		cpuid.VAES:       "VAES",
		cpuid.VPCLMULQDQ: "VPCLMULQDQ",
		cpuid.SHA:        "SHA-NI",
		cpuid.GFNI:       "GFNI",
		cpuid.ADX:        "ADX",
		cpuid.BMI2:       "BMI2",
		cpuid.AVX:        "AVX",
		cpuid.AVX2:       "AVX2",
		cpuid.AVX512F:    "AVX-512F",
		cpuid.AVX512IFMA: "AVX-512IFMA",
		// ARM: the same, and the Chinese algorithms.
		cpuid.AESARM: "AES",
		cpuid.PMULL:  "PMULL",
		cpuid.SHA1:   "SHA1",
		cpuid.SHA2:   "SHA2",
		cpuid.SHA3:   "SHA3",
		cpuid.SHA512: "SHA512",
		cpuid.SM3:    "SM3",
		cpuid.SM4:    "SM4",
		cpuid.ASIMD:  "ASIMD",
		cpuid.SVE:    "SVE",
	} {
		if cpuid.CPU.Supports(id) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
