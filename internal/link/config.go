package link

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Config says what a link is like, the same in both directions.
type Config struct {
	// RTT is the time that a packet and the answer to it take, beside the time
	// that Rate makes of their lengths.
	RTT time.Duration `json:"rtt_ns"`
	// Rate in bits per second at which packets are sent, their IP headers
	// counted; 0: at once.
	Rate int64 `json:"rate_bits_per_s"`
	// Loss is how many of a hundred packets are lost, each independently.
	Loss float64 `json:"loss_percent"`
	// Queue is how much may wait to be sent at Rate; a packet that finds it full
	// is dropped. 0: what Rate sends in RTT, and at least 64 KiB.
	Queue int64 `json:"queue_bytes"`
	// Seed of the losses.
	Seed uint64 `json:"seed"`
}

const (
	maxRTT   = 10 * time.Second // TCP gives up a SYN not much later
	maxRate  = 100e9            // far above what packets are carried at
	leastQ   = 64 << 10
	mtu      = 1500 // Ethernet's, and so that of most paths
	mostText = "want a comma-separated list such as rtt=50ms,rate=100mbit,loss=0.5%"
)

// units of rates, from the largest, as tc(8) writes them.
var units = []struct {
	name string
	bits int64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// Parse reads a link such as "rtt=50ms,rate=100mbit,loss=0.5%". Also known are
// queue=BYTES and seed=NUMBER.
func Parse(s string) (Config, error) {
	var c Config
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return Config{}, fmt.Errorf("link %q: %s", part, mostText)
		}
		if seen[name] {
			return Config{}, fmt.Errorf("link: %s stands twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "rtt":
			c.RTT, err = time.ParseDuration(value)
			if err != nil {
				err = fmt.Errorf("%q is not a duration such as 50ms", value)
			}
		case "rate":
			c.Rate, err = parseRate(value)
		case "loss":
			c.Loss, err = parseLoss(value)
		case "queue":
			c.Queue, err = strconv.ParseInt(value, 10, 64)
			if err != nil || c.Queue < 1 {
				err = fmt.Errorf("%q is not a whole number of bytes from 1", value)
			}
		case "seed":
			c.Seed, err = strconv.ParseUint(value, 10, 64)
			if err != nil {
				err = fmt.Errorf("%q is not a whole number from 0", value)
			}
		default:
			return Config{}, fmt.Errorf("link: unknown %q (one of rtt, rate, loss, queue, seed)", name)
		}
		if err != nil {
			return Config{}, fmt.Errorf("link: %s: %w", name, err)
		}
	}
	return c, c.Check()
}

// Check says what is wrong with c.
func (c Config) Check() error {
	switch {
	case c.RTT < 0 || c.RTT > maxRTT:
		return fmt.Errorf("link: rtt: %s is not from 0s to %s", c.RTT, maxRTT)
	case c.Rate < 0 || c.Rate > maxRate:
		return fmt.Errorf("link: rate: %d bit/s is not from 1bit to 100gbit", c.Rate)
	case !(c.Loss >= 0 && c.Loss < 100):
		return fmt.Errorf("link: loss: %v%% is not from 0%% to below 100%%", c.Loss)
	case c.Queue < 0:
		return fmt.Errorf("link: queue: %d bytes are less than none", c.Queue)
	case c.Queue > 0 && c.Rate == 0:
		return errors.New("link: queue: only a rate makes packets wait: add rate=")
	}
	return nil
}

func parseRate(s string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !(f*float64(u.bits) >= 1 && f*float64(u.bits) <= maxRate) {
			break
		}
		return int64(math.Round(f * float64(u.bits))), nil
	}
	return 0, fmt.Errorf("%q is not a rate from 1bit to 100gbit, such as 100mbit", s)
}

func parseLoss(s string) (float64, error) {
	number, ok := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a share such as 0.5%%", s)
	}
	return f, nil
}

// String writes c as Parse reads it.
func (c Config) String() string {
	parts := []string{"rtt=" + c.RTT.String()}
	if c.Rate > 0 {
		for _, u := range units {
			if c.Rate%u.bits == 0 {
				parts = append(parts, fmt.Sprintf("rate=%d%s", c.Rate/u.bits, u.name))
				break
			}
		}
	}
	if c.Loss > 0 {
		parts = append(parts, "loss="+strconv.FormatFloat(c.Loss, 'f', -1, 64)+"%")
	}
	if c.Queue > 0 {
		parts = append(parts, fmt.Sprintf("queue=%d", c.Queue))
	}
	if c.Seed > 0 {
		parts = append(parts, fmt.Sprintf("seed=%d", c.Seed))
	}
	return strings.Join(parts, ",")
}

// queue returns how many bytes may wait.
func (c Config) queue() int64 {
	if c.Queue > 0 {
		return c.Queue
	}
	return max(int64(float64(c.Rate)/8*c.RTT.Seconds()), leastQ)
}

// Stats is what a link did since it was opened.
type Stats struct {
	ToServer Direction `json:"to_server"`
	ToClient Direction `json:"to_client"`
	Late     Late      `json:"late"`
	// CPU of the thread that carries the packets. It is this process's, not the
	// load's.
	CPU time.Duration `json:"cpu_ns"`
	// RunQueue is how long that thread waited for a core. Packets that came
	// meanwhile began their delay late, which Late cannot know of.
	RunQueue time.Duration `json:"run_queue_wait_ns"`
	// RealTime: the thread goes before all others of usual priority. Where the
	// system does not allow that, Late tells what it costs.
	RealTime bool `json:"real_time"`
}

// Direction is what was carried one way. Every packet is in one of its counts.
type Direction struct {
	Packets   int64 `json:"packets"` // that arrived
	Bytes     int64 `json:"bytes"`   // of those, IP headers counted
	Lost      int64 `json:"lost"`    // by Loss
	QueueFull int64 `json:"queue_full"`
	// Overrun packets were dropped because the emulation did not keep up, which
	// the link asked for would not have done.
	Overrun int64 `json:"overrun"`
}

// Late is how much later than planned packets were sent on.
type Late struct {
	N         int64         `json:"n"`
	Mean      time.Duration `json:"mean_ns"`
	Max       time.Duration `json:"max_ns"`
	Over100us int64         `json:"over_100us"`
	Over1ms   int64         `json:"over_1ms"`
	sum       time.Duration
}

func (l *Late) record(d time.Duration) {
	l.N++
	l.sum += d
	l.Mean = l.sum / time.Duration(l.N)
	l.Max = max(l.Max, d)
	if d > 100*time.Microsecond {
		l.Over100us++
	}
	if d > time.Millisecond {
		l.Over1ms++
	}
}
