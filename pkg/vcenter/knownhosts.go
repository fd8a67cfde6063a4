package vcenter

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// setKnownHosts looks the server up in govc's lists of known hosts, one "HOST[:PORT] THUMBPRINT" a line. The last one that
// is about the server counts, as for govc, and so does a file that is not there: for nothing.
func (v *VCenter) setKnownHosts(list string) error {
	for _, file := range filepath.SplitList(list) {
		data, err := input.File(file, input.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("environment: GOVC_TLS_KNOWN_HOSTS: %w", err)
		}
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			if len(words) != 2 || !isThumbprint(words[1]) {
				return fmt.Errorf("%s:%d: must be HOST:PORT and the SHA-1 or SHA-256 fingerprint of a certificate", file, number)
			}
			if v.is(words[0]) {
				v.Thumbprint = words[1]
			}
		}
	}
	return nil
}

// is tells whether an address, whose port may be left out, is the vCenter's.
func (v *VCenter) is(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "443"
	}
	return strings.EqualFold(net.JoinHostPort(host, port), v.Address())
}

// isThumbprint tells whether the text is 20 or 32 bytes in hexadecimal, with colons or without.
func isThumbprint(text string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	return err == nil && (len(b) == 20 || len(b) == 32)
}
