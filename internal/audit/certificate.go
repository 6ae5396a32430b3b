package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/lint"
)

// What a client learns of certificates, its own included.

// certificates has a row for each that the file names, and one for each that is shown beside.
func certificates(v *view) []*row {
	files := lint.Leaves(v.model.Config, v.server)
	r := v.setting(v.server, "ssl_certificate", "a certificate")
	if len(files) == 0 {
		return r.open("the file names none")
	}
	var rows []*row
	matched := make([]bool, len(v.leaves))
	unread := false
	for _, f := range files {
		r := &row{Row: lint.Row{Setting: "ssl_certificate", Expected: f.Place.Arg(0), Agree: shakedown.Inconclusive}, place: f.Place}
		if f.Err != nil {
			unread = true
			rows = append(rows, r.open("the file is not read: %v", f.Err)...)
			continue
		}
		r.Expected = fmt.Sprintf("%s, %s (%s)", f.Key, fingerprint(f.DER), f.Place.Arg(0))
		i := slices.IndexFunc(v.leaves, func(l leaf) bool { return bytes.Equal(l.der, f.DER) })
		if i < 0 { // another of its kind stands in its place
			i = slices.IndexFunc(v.leaves, func(l leaf) bool { return l.kind == f.Kind })
		}
		switch {
		case i < 0 && v.is("certificates", shakedown.Yes):
			rows = append(rows, r.settle(false, "none of this kind")...)
		case i < 0:
			rows = append(rows, r.open("%s", v.answer("certificates").Evidence)...)
		case v.leaves[i].err != nil:
			matched[i] = true
			rows = append(rows, r.open("%s, but a handshake for it failed: %v", v.leaves[i].key, v.leaves[i].err)...)
		default:
			matched[i] = true
			rows = append(rows, r.settle(bytes.Equal(v.leaves[i].der, f.DER), "%s, %s", v.leaves[i].key, fingerprint(v.leaves[i].der))...)
		}
	}
	for i, l := range v.leaves {
		if !matched[i] && !unread && l.err == nil {
			r := &row{Row: lint.Row{Setting: "ssl_certificate", Expected: "none of this kind", Agree: shakedown.Inconclusive}, place: files[0].Place}
			rows = append(rows, r.settle(false, "%s, %s", l.key, fingerprint(l.der))...)
		}
	}
	return rows
}

// stapling that is on may never happen, for reasons outside of the file; a file to staple is always there.
func stapling(v *view) []*row {
	if len(v.seen.Certificates) == 0 {
		return nil
	}
	words := v.server.Get("ssl_stapling").Words
	file := v.server.Get("ssl_stapling_file").Set() && words == "on"
	r := v.setting(v.server, "ssl_stapling", words)
	var seen []string
	asked, stapled := 0, 0
	for _, c := range v.seen.Certificates {
		asked, stapled = asked+c.Stapling.Asked, stapled+c.Stapling.Stapled
		seen = append(seen, fmt.Sprintf("%s: %d of %s had a staple", c.Chain.Key(), c.Stapling.Stapled, plural(c.Stapling.Asked, "full handshake")))
	}
	text := strings.Join(seen, ", ")
	switch {
	case asked == 0:
		return r.open("no full handshake asked for a staple")
	case words == "on" && stapled == 0 && !file:
		return r.open("%s; it takes a responder that answers", text)
	}
	return r.settle((words == "on") == (stapled > 0), "%s", text)
}

func clients(v *view) []*row {
	words := v.server.Get("ssl_verify_client").Words
	r := v.setting(v.server, "ssl_verify_client", words)
	want := shakedown.Yes
	if words == "off" {
		want = shakedown.No
	}
	return v.byAnswer(r, "client-certificate", want)
}

// nameless: whether clients without a name are refused is the default server's matter.
func nameless(v *view) []*row {
	if !v.is("no-sni", shakedown.Yes) && !v.is("no-sni", shakedown.No) || v.socket.Module != "http" {
		return nil
	}
	expected, want := "clients without a name are served", shakedown.Yes
	if on(v.decider, "ssl_reject_handshake") {
		expected, want = "clients without a name are refused", shakedown.No
	}
	if v.decider != v.server {
		expected += fmt.Sprintf(" (by the default server %s)", v.decider.Name())
	}
	return v.byAnswer(v.setting(v.decider, "ssl_reject_handshake", expected), "no-sni", want)
}
