package conformance

import (
	_ "embed"
	"os"
	"path/filepath"
)

// The definitions of CSI drivers for the External Storage tests: of the built-in driver, and of upstream's.
var (
	//go:embed builtin.yaml
	builtinDriver []byte
	//go:embed upstream.yaml
	upstreamDriver []byte
)

// WriteDriver writes the definition file of the sandbox's CSI driver, or of upstream's, into a folder and returns its path.
func WriteDriver(dir string, upstream bool) (string, error) {
	text := builtinDriver
	if upstream {
		text = upstreamDriver
	}
	path := filepath.Join(dir, "testdriver.yaml")
	return path, os.WriteFile(path, text, 0o600)
}
