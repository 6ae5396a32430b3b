package link

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Config
		back string // what String makes of it; "": text
	}{
		{"rtt=50ms,rate=100mbit,loss=0.5%", Config{RTT: 50 * time.Millisecond, Rate: 100e6, Loss: 0.5}, ""},
		{"rtt=0s", Config{}, ""},
		{"loss=0.07%", Config{Loss: 0.07}, "rtt=0s,loss=0.07%"},
		{" rtt=1.5ms , rate=1.5mbit ", Config{RTT: 1500 * time.Microsecond, Rate: 1_500_000}, "rtt=1.5ms,rate=1500kbit"},
		{"rate=9600bit,queue=3000,rtt=1s", Config{RTT: time.Second, Rate: 9600, Queue: 3000}, "rtt=1s,rate=9600bit,queue=3000"},
		{"rate=100gbit,seed=18446744073709551615", Config{Rate: 100e9, Seed: 1<<64 - 1}, "rtt=0s,rate=100gbit,seed=18446744073709551615"},
	} {
		got, err := Parse(c.text)
		if err != nil || got != c.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", c.text, got, err, c.want)
		}
		back := c.back
		if back == "" {
			back = c.text
		}
		if got.String() != back {
			t.Errorf("Parse(%q) prints %q, want %q", c.text, got.String(), back)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `link "": want a comma-separated list such as rtt=50ms,rate=100mbit,loss=0.5%`,
		"50ms":                   `link "50ms": want a comma-separated list such as rtt=50ms,rate=100mbit,loss=0.5%`,
		"rtt=50ms,":              `link "": want a comma-separated list such as rtt=50ms,rate=100mbit,loss=0.5%`,
		"rtt=50":                 `link: rtt: "50" is not a duration such as 50ms`,
		"rtt=-1ms":               `link: rtt: -1ms is not from 0s to 10s`,
		"rtt=11s":                `link: rtt: 11s is not from 0s to 10s`,
		"rtt=1ms,rtt=2ms":        `link: rtt stands twice`,
		"rate=100":               `link: rate: "100" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"rate=0mbit":             `link: rate: "0mbit" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"rate=-1mbit":            `link: rate: "-1mbit" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"rate=NaNmbit":           `link: rate: "NaNmbit" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"rate=101gbit":           `link: rate: "101gbit" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"rate=10mbps":            `link: rate: "10mbps" is not a rate from 1bit to 100gbit, such as 100mbit`,
		"loss=0.5":               `link: loss: "0.5" is not a share such as 0.5%`,
		"loss=x%":                `link: loss: "x%" is not a share such as 0.5%`,
		"loss=100%":              `link: loss: 100% is not from 0% to below 100%`,
		"loss=NaN%":              `link: loss: NaN% is not from 0% to below 100%`,
		"loss=-1%":               `link: loss: -1% is not from 0% to below 100%`,
		"rate=1mbit,queue=0":     `link: queue: "0" is not a whole number of bytes from 1`,
		"rate=1mbit,queue=64KiB": `link: queue: "64KiB" is not a whole number of bytes from 1`,
		"queue=1000":             `link: queue: only a rate makes packets wait: add rate=`,
		"seed=-1":                `link: seed: "-1" is not a whole number from 0`,
		"jitter=1ms":             `link: unknown "jitter" (one of rtt, rate, loss, queue, seed)`,
	} {
		if got, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %+v, %v, want %s", text, got, err, want)
		}
	}
}

// FuzzParse holds what is parsed against what it prints.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"rtt=50ms,rate=100mbit,loss=0.5%", "rate=1.000001mbit,queue=1,seed=7", "loss=1e-300%", "rtt=1ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			t.Errorf("%q is %+v, which prints %q, which is %+v, %v", text, c, c, again, err)
		}
	})
}
