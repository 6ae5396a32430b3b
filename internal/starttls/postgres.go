package starttls

var postgresSteps = []step{
	{"SSLRequest", []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}, "answer to SSLRequest", postgresAnswer},
}

// postgresAnswer parses the answer to SSLRequest: one byte, S for willing or N.
// An E begins an ErrorResponse, of servers before 7.0 and of those that cannot
// start a process for the connection.
func postgresAnswer(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	switch b[0] {
	case 'S':
		return 1, nil
	case 'N':
		return 0, refused(b, noTLS, hintOff+" (ssl = on)")
	case 'E':
		return 0, refused(b, noService, hintService)
	}
	return 0, misbehaved(b, "it is not S, N or E")
}
