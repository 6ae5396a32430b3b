package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A HardwareWatch counts what the processor does for processes, by
// perf_event_open(2).
type HardwareWatch struct {
	events   []perfEvent
	files    [][]int // by event, one for each thread there was at the start
	userOnly bool
}

// perfEvent is something that the kernel can count, as perf_event_open(2) has it.
type perfEvent struct {
	kind   uint32
	config uint64
}

// hardwareEvents are in the order of the fields of [Hardware].
var hardwareEvents = []perfEvent{
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
}

// StartHardware begins to count for the processes with the given PIDs and for
// what they start from now on. It fails with [ErrNoHardware] where the machine
// has no counters, and with the kernel's error where it has some and denies them.
func StartHardware(pids ...int) (*HardwareWatch, error) { return startEvents(hardwareEvents, pids) }

// Read returns what was counted so far.
func (w *HardwareWatch) Read() (Hardware, error) {
	n, err := w.read()
	if err != nil {
		return Hardware{}, err
	}
	return Hardware{n[0], n[1], n[2], n[3], w.userOnly}, nil
}

// Close ends the counting.
func (w *HardwareWatch) Close() {
	for _, files := range w.files {
		for _, fd := range files {
			unix.Close(fd)
		}
	}
	w.files = nil
}

func startEvents(events []perfEvent, pids []int) (*HardwareWatch, error) {
	w := &HardwareWatch{events: events, files: make([][]int, len(events))}
	err := w.open(pids)
	if errors.Is(err, fs.ErrPermission) {
		w.Close()
		w.files, w.userOnly = make([][]int, len(events)), true
		err = w.open(pids)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *HardwareWatch) open(pids []int) error {
	for _, pid := range pids {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return err
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil {
				return err
			}
			for i, e := range w.events {
				fd, err := e.open(tid, w.userOnly)
				switch {
				case errors.Is(err, unix.ESRCH): // it ended meanwhile
					continue
				case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
					return ErrNoHardware
				case err != nil:
					return fmt.Errorf("counting what process %d does: %w", pid, err)
				}
				w.files[i] = append(w.files[i], fd)
			}
		}
	}
	return nil
}

func (e perfEvent) open(tid int, userOnly bool) (int, error) {
	attr := unix.PerfEventAttr{
		Type: e.kind, Config: e.config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	if userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// read sums each event over its threads. Where the processor has fewer counters
// than are asked for, the kernel lets them take turns and tells for how long each
// counted, which the sum is corrected for.
func (w *HardwareWatch) read() ([]uint64, error) {
	sums := make([]uint64, len(w.events))
	var b [24]byte // value, time enabled, time running
	for i, files := range w.files {
		for _, fd := range files {
			if n, err := unix.Read(fd, b[:]); err != nil || n != len(b) {
				return nil, fmt.Errorf("reading a counter: %d bytes, %w", n, err)
			}
			value, enabled, running := binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:])
			if running > 0 && running < enabled {
				value = uint64(float64(value) * float64(enabled) / float64(running))
			}
			sums[i] += value
		}
	}
	return sums, nil
}
