package rpc

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxPath is how long the path of a unix socket can be: 108 bytes with the zero behind it on Linux, 104 on macOS.
const maxPath = 103

// socket returns the path in an endpoint: unix:///path, unix:/path as gRPC writes it, or the path alone.
func socket(endpoint string) (string, error) {
	path, found := strings.CutPrefix(endpoint, "unix:")
	if found {
		path = strings.TrimPrefix(path, "//")
	}
	switch {
	case path == "" || !filepath.IsAbs(path):
		return "", fmt.Errorf("endpoint %q: not unix:///path/of/a.sock", endpoint)
	case len(path) > maxPath:
		return "", fmt.Errorf("endpoint %q: a path of %d bytes, and a unix socket can have %d: use a shorter one", endpoint, len(path), maxPath)
	}
	return path, nil
}
