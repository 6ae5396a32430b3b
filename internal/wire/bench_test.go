package wire

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, v := range readVectors(b) {
		if v.section != "3" || v.client {
			continue
		}
		b.Run(v.typ.String(), func(b *testing.B) {
			var hello ServerHello
			var extensions EncryptedExtensions
			var certificate CertificateTLS13
			var verify CertificateVerify
			var finished Finished
			var ticket NewSessionTicketTLS13
			parse := map[HandshakeType]func([]byte) error{
				TypeServerHello: hello.Parse, TypeEncryptedExtensions: extensions.Parse, TypeCertificate: certificate.Parse,
				TypeCertificateVerify: verify.Parse, TypeFinished: finished.Parse, TypeNewSessionTicket: ticket.Parse,
			}[v.typ]
			b.ReportAllocs()
			for b.Loop() {
				if err := parse(v.body()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
