package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFrequency(t *testing.T) {
	write := func(t *testing.T, files map[string]string) string {
		t.Helper()
		directory := t.TempDir()
		for name, text := range files {
			file := filepath.Join(directory, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return directory
	}
	var e Environment
	err := e.readFrequency(write(t, map[string]string{
		"cpu0/cpufreq/scaling_governor": "powersave\n", "cpu1/cpufreq/scaling_governor": "performance\n", "cpu10/cpufreq/scaling_governor": "powersave\n",
		"cpu0/cpufreq/scaling_cur_freq": "1200000\n", "cpu0/cpufreq/cpuinfo_max_freq": "3400000\n",
	}))
	if err != nil || e.Governor != "performance, powersave" || e.Frequency != 1_200_000_000 || e.FrequencyMax != 3_400_000_000 {
		t.Errorf("governor %q, %d of %d Hz, %v", e.Governor, e.Frequency, e.FrequencyMax, err)
	}
	for want, files := range map[string]map[string]string{
		"does not show them": {"cpu0/topology/core_id": "0"},
		"no such file":       {"cpu0/cpufreq/scaling_governor": "performance"},
		`holds "fast"`:       {"cpu0/cpufreq/scaling_governor": "performance", "cpu0/cpufreq/scaling_cur_freq": "fast"},
	} {
		var e Environment
		if err := e.readFrequency(write(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", files, err, want)
		}
	}
}
