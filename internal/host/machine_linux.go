package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadCPUTimes reads the machine's CPU times from /proc/stat.
func ReadCPUTimes() (CPUTimes, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTimes{}, fmt.Errorf("host: %w", err)
	}
	return parseCPUTimes(data)
}

// parseCPUTimes reads the first line of /proc/stat: "cpu" and the times of all
// CPUs. Guest time is left alone, since it is counted under user and nice too.
func parseCPUTimes(data []byte) (CPUTimes, error) {
	line, _, complete := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(string(line))
	if !complete || len(fields) < 9 || fields[0] != "cpu" {
		return CPUTimes{}, fmt.Errorf("host: /proc/stat begins %.80q, not with the times of all CPUs", data)
	}
	var t CPUTimes
	for i, field := range []*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ, &t.Steal} {
		v, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			return CPUTimes{}, fmt.Errorf("host: /proc/stat: %w", err)
		}
		*field = v
	}
	return t, nil
}

// ReadListenDrops reads the counters of this thread's network namespace.
func ReadListenDrops() (ListenDrops, error) {
	data, err := os.ReadFile("/proc/thread-self/net/netstat")
	if err != nil {
		return ListenDrops{}, fmt.Errorf("host: %w", err)
	}
	return parseListenDrops(data)
}

// parseListenDrops reads /proc/net/netstat, which has two lines for each group
// of counters: the names, and the values in the same order.
func parseListenDrops(data []byte) (ListenDrops, error) {
	var drops ListenDrops
	wanted := map[string]*uint64{"ListenOverflows": &drops.Overflows, "ListenDrops": &drops.Drops}
	var names []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "TcpExt:") {
			continue
		}
		if names == nil {
			names = strings.Fields(line)
			continue
		}
		values := strings.Fields(line)
		if len(values) != len(names) || !strings.HasSuffix(line, "\n") {
			break
		}
		for i, name := range names {
			field, ok := wanted[name]
			if !ok {
				continue
			}
			v, err := strconv.ParseUint(values[i], 10, 64)
			if err != nil {
				return ListenDrops{}, fmt.Errorf("host: /proc/net/netstat: %w", err)
			}
			*field = v
			delete(wanted, name)
		}
	}
	if len(wanted) > 0 {
		return ListenDrops{}, errors.New("host: /proc/net/netstat does not count listen drops")
	}
	return drops, nil
}

// ReadLimits reads the limits of this process and its network namespace.
func ReadLimits() (Limits, error) {
	var l Limits
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return Limits{}, fmt.Errorf("host: limit of open files: %w", err)
	}
	l.OpenFiles, l.OpenFilesMax = files.Cur, files.Max
	for _, setting := range []struct {
		name   string
		values []*int
	}{
		{"net/ipv4/ip_local_port_range", []*int{&l.PortLow, &l.PortHigh}},
		{"net/core/somaxconn", []*int{&l.AcceptQueueMax}},
		{"net/ipv4/tcp_max_syn_backlog", []*int{&l.SYNBacklogMax}},
	} {
		data, err := os.ReadFile("/proc/sys/" + setting.name)
		if err != nil {
			return Limits{}, fmt.Errorf("host: %w", err)
		}
		fields := strings.Fields(string(data))
		if len(fields) != len(setting.values) {
			return Limits{}, fmt.Errorf("host: /proc/sys/%s holds %q", setting.name, data)
		}
		for i, field := range fields {
			if *setting.values[i], err = strconv.Atoi(field); err != nil {
				return Limits{}, fmt.Errorf("host: /proc/sys/%s: %w", setting.name, err)
			}
		}
	}
	return l, nil
}

// kernel returns the name and release of the running kernel.
func kernel() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", fmt.Errorf("host: kernel version: %w", err)
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]), nil
}

// memory returns the size of the machine's RAM in bytes.
func memory() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("host: memory size: %w", err)
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit)), nil
}

// clockSource returns what the kernel tells the time by.
func clockSource() (string, error) {
	data, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return "", fmt.Errorf("host: clock source: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// readFrequency reads the governor and the frequencies below directory, that of
// the CPUs in /sys.
func (e *Environment) readFrequency(directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "cpu[0-9]*", "cpufreq", "scaling_governor"))
	if err != nil {
		return fmt.Errorf("host: frequency: %w", err)
	}
	if len(files) == 0 {
		return errors.New("host: frequency and governor: the kernel does not show them (a virtual machine has none)")
	}
	var governors []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("host: governor: %w", err)
		}
		if g := strings.TrimSpace(string(data)); !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
	}
	slices.Sort(governors)
	e.Governor = strings.Join(governors, ", ")
	for _, f := range []struct {
		name string
		hz   *int64
	}{{"scaling_cur_freq", &e.Frequency}, {"cpuinfo_max_freq", &e.FrequencyMax}} {
		data, err := os.ReadFile(filepath.Join(directory, "cpu0", "cpufreq", f.name))
		if err != nil {
			return fmt.Errorf("host: frequency: %w", err)
		}
		kHz, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil || kHz <= 0 || kHz > 1e9 {
			return fmt.Errorf("host: frequency: %s holds %.20q", f.name, data)
		}
		*f.hz = kHz * 1000
	}
	return nil
}
