package main

import (
	"encoding/json"
	"fmt"
	"os"

	"shakedown"
	"shakedown/handshake"
)

// readSessions reads a file that writeSessions wrote.
func readSessions(file string) ([]*handshake.Session, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failed("write one with: shakedown trace --session-out FILE TARGET", "--session-in: %w", err)
	}
	var sessions []*handshake.Session
	if err := json.Unmarshal(text, &sessions); err != nil {
		return nil, failed("write one with: shakedown trace --session-out FILE TARGET", "--session-in: %s is not a JSON array of sessions: %w", file, err)
	}
	if len(sessions) == 0 {
		return nil, failed("write one with: shakedown trace --session-out FILE TARGET", "--session-in: %s holds no session", file)
	}
	for i, s := range sessions {
		if s == nil {
			return nil, failed("", "--session-in: entry %d of %s is null", i, file)
		}
	}
	return sessions, nil
}

// modeOf is the mode in which a server resumes the first of the sessions, of which
// there is one at least.
func modeOf(sessions []*handshake.Session) shakedown.Mode {
	switch {
	case sessions[0].Version == shakedown.TLS13:
		return shakedown.ModePSK
	case len(sessions[0].Ticket) > 0:
		return shakedown.ModeTicket
	}
	return shakedown.ModeSessionID
}

// writeSessions writes sessions as a JSON array, readable by the owner alone:
// they hold secrets.
func writeSessions(file string, sessions []*handshake.Session) error {
	if sessions == nil {
		sessions = []*handshake.Session{}
	}
	text, err := json.MarshalIndent(sessions, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return failed("", "--session-out: %w", err)
	}
	defer f.Close()
	// An existing file keeps its mode when opened.
	if err := f.Chmod(0o600); err != nil {
		return failed("", "--session-out: %w", err)
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return failed("", "--session-out: %w", err)
	}
	return f.Close()
}

// fitting returns the first session that the client can offer, or why the last
// one cannot be.
func fitting(client *handshake.Client, sessions []*handshake.Session) (*handshake.Session, error) {
	err := fmt.Errorf("there is none")
	for _, s := range sessions {
		if err = client.CanOffer(s); err == nil {
			return s, nil
		}
	}
	return nil, err
}
