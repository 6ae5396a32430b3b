package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shakedown/internal/lab"
)

// aLab reads the outcome of a run that was really made.
func aLab(t *testing.T) *Lab {
	t.Helper()
	text, err := os.ReadFile("testdata/lab.json")
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Outcome: &lab.Outcome{}}
	if err := json.Unmarshal(text, l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLabJSON: what was written reads back as the same.
func TestLabJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, aLab(t)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/lab.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Error("testdata/lab.json is not what its document writes")
	}
}

func TestLabText(t *testing.T) { golden(t, "lab", text(t, aLab(t))) }

func TestLabCSV(t *testing.T) {
	l := aLab(t)
	var out bytes.Buffer
	if err := l.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(l.Cells)+1 {
		t.Fatalf("%d lines for %d cells", len(rows), len(l.Cells))
	}
	column := slices.Index(rows[0], lab.ServerCPU)
	for i, c := range l.Cells {
		if got := rows[i+1][column]; got != plain(c.ServerCPU.Median) || c.Status == lab.Measured && got == "" {
			t.Errorf("%s: %q for %v", c.ID, got, c.ServerCPU.Median)
		}
	}
}

// TestLabHTML looks at the page as text: it holds the data, the program and the
// licence, asks for nothing from elsewhere, and no name in it ends the script.
func TestLabHTML(t *testing.T) {
	l := aLab(t)
	l.Plan.Title = "</script><script>alert(1)</script>"
	l.Cells[0].Reason = "@@DATA@@"
	var out bytes.Buffer
	if err := l.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Contains(page, "alert(1)</script>") {
		t.Error("a title can end the script")
	}
	if n := strings.Count(page, "@@"); n != 2 {
		t.Errorf("%d marks are left, want the 2 of the reason", n)
	}
	for _, want := range []string{"Licensed to the Apache Software Foundation", `"schema":"shakedown/lab/v1"`, "prefers-color-scheme: dark", "@media print", "width=device-width"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)\s*=\s*["']?(?:https?:)?//[^"' >]*`).FindString(page); m != "" {
		t.Errorf("the page refers to %s", m)
	}
}

// TestLabPage opens the page in a browser, in the light, in the dark and on a
// telephone, and looks at what it drew.
func TestLabPage(t *testing.T) {
	browser, err := findBrowser()
	if err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("starting a browser takes seconds: run without -short")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "lab.html")
	var page bytes.Buffer
	if err := aLab(t).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	// What goes wrong in the page is written into it.
	watched := strings.Replace(page.String(), "<body>", `<body><script>window.onerror = (m) => document.body.setAttribute("data-error", m)</script>`, 1)
	if err := os.WriteFile(file, []byte(watched), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{
		"light":     {"--window-size=1200,900"},
		"dark":      {"--window-size=1200,900", "--blink-settings=preferredColorScheme=0"},
		"telephone": {"--window-size=500,900"},
	} {
		t.Run(name, func(t *testing.T) {
			dom := dump(t, browser, file, flags...)
			if m := regexp.MustCompile(`data-error="([^"]*)"`).FindStringSubmatch(dom); m != nil {
				t.Fatalf("the page's program failed: %s", m[1])
			}
			drawn, _, _ := strings.Cut(dom, `<script type="application/json"`)
			for _, want := range []string{
				"Before you read the figures", "Environment", "Effects", "Cells", "Heat map", "From the worst cell to the best", "Interactions", "Latency",
				"Server CPU per handshake in its parts", "One handshake on the idle server", "no difference detected", "key file",
			} {
				if !strings.Contains(drawn, want) {
					t.Errorf("no %q on the page", want)
				}
			}
			if n := strings.Count(drawn, "<svg"); n < 5 {
				t.Errorf("%d charts, want 5 or more", n)
			}
			for _, bad := range []string{"undefined", "NaN", "[object"} {
				if strings.Contains(drawn, bad) {
					t.Errorf("%q on the page", bad)
				}
			}
		})
	}
}

func findBrowser() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed (Debian: apt install chromium)")
}

// dump returns the page as it is once its program has run.
func dump(t *testing.T, browser, file string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	arguments := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=" + t.TempDir(), "--virtual-time-budget=2000",
	}, flags...)
	cmd := exec.CommandContext(ctx, browser, append(arguments, "--dump-dom", "file://"+file)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}
