package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots are the certificate authorities that browsers trust, as a file of PEM: Mozilla's list, of the module that the Go
// project keeps. Those that Mozilla trusts for some certificates only are left out, since a file cannot say so. A vCenter
// with an authority of its own has it in its configuration.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// A bytes.Buffer takes everything.
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}
