package host

import "errors"

// ErrNoHardware says that this machine lets nobody count what its processor does.
var ErrNoHardware = errors.New("this machine has no hardware counters, as virtual machines often have none")

// Hardware is what the processor counted for processes, and for all that they
// started meanwhile, since [StartHardware].
type Hardware struct {
	Instructions uint64 `json:"instructions"`
	Cycles       uint64 `json:"cycles"`
	CacheMisses  uint64 `json:"cache_misses"` // of the last level
	BranchMisses uint64 `json:"branch_misses"`
	// UserOnly: the kernel's part is left out, since kernel.perf_event_paranoid
	// keeps it from this user.
	UserOnly bool `json:"user_only"`
}

// Per returns h for each of n.
func (h Hardware) Per(n int64) Hardware {
	if n <= 0 {
		return Hardware{UserOnly: h.UserOnly}
	}
	d := uint64(n)
	return Hardware{h.Instructions / d, h.Cycles / d, h.CacheMisses / d, h.BranchMisses / d, h.UserOnly}
}
