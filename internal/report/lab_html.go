package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"html"
	"io"
	"strings"
)

// assets holds the page of an experiment and Apache ECharts, which draws its
// charts, with its licences.
//
//go:embed assets
var assets embed.FS

// WriteHTML writes one page that holds everything it needs: it opens without a
// network, on paper, on a telephone, in the light and in the dark.
func (l *Lab) WriteHTML(w io.Writer) error {
	// encoding/json escapes <, > and &, so that no name can end the script.
	data, err := json.Marshal(struct {
		*Lab
		Place string `json:"place"`
	}{l, l.Place()})
	if err != nil {
		return err
	}
	page, err := assets.ReadFile("assets/lab.html")
	if err != nil {
		return err
	}
	parts := map[string][]byte{"TITLE": []byte(html.EscapeString(l.Plan.Name + ": " + l.Plan.Title)), "DATA": data}
	for name, file := range map[string]string{"STYLE": "lab.css", "ECHARTS": "echarts.min.js", "PROGRAM": "lab.js"} {
		if parts[name], err = assets.ReadFile("assets/" + file); err != nil {
			return err
		}
	}
	// In the order of the page, so that what is put in is not searched again.
	for {
		before, after, found := bytes.Cut(page, []byte("@@"))
		if _, err := w.Write(before); err != nil || !found {
			return err
		}
		name, rest, _ := strings.Cut(string(after), "@@")
		if _, err := w.Write(parts[name]); err != nil {
			return err
		}
		page = []byte(rest)
	}
}
