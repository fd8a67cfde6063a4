//go:build !linux

package gate

import (
	"net"
	"os"
)

// reserve does nothing: other processes may take the address.
func reserve(*net.TCPAddr) *os.File { return nil }
