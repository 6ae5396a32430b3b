package report

import (
	"strings"
	"testing"
	"time"

	"shakedown/internal/load"
	"shakedown/internal/stats"
)

func TestExpectations(t *testing.T) {
	s := aSummary(t, 1500)
	for text, want := range map[string]struct {
		met  bool
		text string
	}{
		"p99<30ms":                        {true, "25.0 ms"},
		"p99 < 30ms":                      {true, "25.0 ms"},
		"p50<=1ms":                        {false, "17.6 ms"},
		"connect_p50<8ms":                 {true, "7.57 ms"},
		"handshake_p99.9<1s":              {true, "25.0 ms"},
		"total_p999>1s":                   {false, "25.1 ms"},
		"max<1h":                          {true, "25.1 ms"},
		"min>10ms":                        {true, "10.1 ms"},
		"mean>10ms":                       {true, "17.6 ms"},
		"handshakes_per_s>=1500":          {true, "1,505/s"},
		"handshakes_per_s>2000/s":         {false, "1,505/s"},
		"resumed>=99%":                    {false, "0.66%"},
		"full>99%":                        {true, "99.34%"},
		"as_asked=100%":                   {false, "99.34%"},
		"stapled>=99%":                    {true, "99.34%"},
		"retried<1%":                      {true, "0.66%"},
		"failed<=0.2%":                    {true, "0.13%"},
		"missed=0%":                       {true, "0%"},
		"server_cpu_per_handshake<600us":  {true, "500 µs"},
		"client_cpu_per_handshake<0.05ms": {false, "60.0 µs"},
	} {
		e, err := ParseExpectation(text)
		if err != nil {
			t.Error(err)
			continue
		}
		j := e.Judge(s)
		if j.Met != want.met || j.Text != want.text || j.Value == nil || j.N == 0 || j.Problem != "" {
			t.Errorf("%s: %+v, want met %v by %s", text, j, want.met, want.text)
		}
	}
}

// TestExpectationsUnknown: without a figure nothing is met.
func TestExpectationsUnknown(t *testing.T) {
	s := &load.Summary{Why: "it is elsewhere", Recorders: [3]*stats.Recorder{stats.NewRecorder(), stats.NewRecorder(), stats.NewRecorder()}}
	for text, want := range map[string]string{
		"p99<30ms": "no handshake came to an end", "p99>=0s": "no handshake came to an end", "failed<=100%": "no handshake came to an end",
		"server_cpu_per_handshake<1s": "the server was not seen: it is elsewhere", "handshakes_per_s>=0": "the run has no whole second",
	} {
		e, err := ParseExpectation(text)
		if err != nil {
			t.Fatal(err)
		}
		if j := e.Judge(s); j.Met || j.Problem != want || j.Value != nil {
			t.Errorf("%s: %+v, want unmet: %s", text, j, want)
		}
	}
}

func TestExpectationsMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "want figure, comparison and bound",
		"p99":                  "want figure, comparison and bound",
		"<30ms":                `unknown figure ""`,
		"p99<":                 `"" is not a duration such as 30ms`,
		"p99<30":               `"30" is not a duration such as 30ms`,
		"p99<-1ms":             `"-1ms" is not a duration`,
		"p99==30ms":            `"=30ms" is not a duration`,
		"pp<1ms":               `unknown figure "pp"`,
		"p<1ms":                `unknown figure "p"`,
		"p0<1ms":               `unknown figure "p0"`,
		"p1.2.3<1ms":           `unknown figure "p1.2.3"`,
		"resumed>0.99":         `"0.99" is not a percentage such as 99%`,
		"resumed>101%":         `"101%" is not a percentage`,
		"handshakes_per_s>NaN": `"NaN" is not a number such as 1000`,
		"handshakes_per_s>x":   `"x" is not a number`,
		"speed>1":              `unknown figure "speed" (some are p50,`,
	} {
		_, err := ParseExpectation(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	for name, want := range map[string]float64{"p5": 0.05, "p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p99.9": 0.999, "p99.99": 0.9999, "p9999": 0.9999} {
		if got, ok := quantile(name); !ok || got < want-1e-12 || got > want+1e-12 {
			t.Errorf("%s: %v %v, want %v", name, got, ok, want)
		}
	}
}

func FuzzParseExpectation(f *testing.F) {
	for _, seed := range []string{"p99<30ms", "resumed>=99%", "handshakes_per_s>1000/s", "connect_p99.9<=1s", "failed=0%", "<", "p99<", "=p"} {
		f.Add(seed)
	}
	s := &load.Summary{Recorders: [3]*stats.Recorder{stats.NewRecorder(), stats.NewRecorder(), stats.NewRecorder()}}
	for _, r := range s.Recorders {
		if err := r.Record(time.Millisecond); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseExpectation(text); err == nil {
			if j := e.Judge(s); j.Met && j.Value == nil {
				t.Errorf("%q is met without a figure", text)
			}
		}
	})
}
