package child

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// ReadConfig reads a file that [WriteConfig] wrote.
func ReadConfig[T any](path string) (T, error) {
	var c T
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// WriteConfig stores the configuration of a child as JSON, readable by its owner only.
func WriteConfig(path string, config any) error {
	b, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, b, 0o600)
}
