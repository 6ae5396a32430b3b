package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileValue: a file that cannot be written is told when its flag is read, and
// what there is stays as it is.
func TestFileValue(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("kept", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"dangling": "absent", "good": "kept"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("sealed", nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"new": "", "folder/new": "", "kept": "", "good": "", "dangling": "", os.DevNull: "", "": "",
		"folder": "is a directory", "nowhere/new": "no such file", "kept/new": "not a directory", "sealed": "permission denied",
	} {
		if path == "sealed" && os.Geteuid() == 0 {
			continue // root may write it
		}
		var got string
		err := fileValue{&got}.Set(path)
		if want == "" && (err != nil || got != path) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	left, err := filepath.Glob("*")
	if err != nil || strings.Join(left, " ") != "dangling folder good kept sealed" {
		t.Errorf("there are %v (%v)", left, err)
	}
	if inside, _ := filepath.Glob("folder/*"); inside != nil {
		t.Errorf("left behind: %v", inside)
	}
	if text, err := os.ReadFile("kept"); err != nil || string(text) != "text" {
		t.Errorf("the file that was there holds %q (%v)", text, err)
	}
}

func TestRecordLimitValue(t *testing.T) {
	for text, want := range map[string]uint16{"64": 64, "16385": 16385, "63": 0, "16386": 0, "99999": 0, "-1": 0, "": 0, "1k": 0} {
		var got uint16
		if err := (recordLimitValue{&got}).Set(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}
