package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// table is what is staged and published, by path.
type table struct {
	Boot      string               `json:"boot,omitempty"`
	Staged    map[string]staged    `json:"staged"`
	Published map[string]published `json:"published"`
}

// staged is a volume at its staging path.
type staged struct {
	Volume string `json:"volume"`
	// Dir is the disk's directory.
	Dir    string `json:"dir"`
	Block  bool   `json:"block,omitempty"`
	FSType string `json:"fsType,omitempty"`
}

// published is a volume at a target path. It is written down before anything is made there.
type published struct {
	Volume string `json:"volume"`
	Dir    string `json:"dir"`
	Block  bool   `json:"block,omitempty"`
	// ReadOnly is what was asked for; a link cannot enforce it.
	ReadOnly bool `json:"readOnly,omitempty"`
	Alone    bool `json:"alone,omitempty"`
}

func newTable(boot string) table {
	return table{Boot: boot, Staged: map[string]staged{}, Published: map[string]published{}}
}

func readTable(path string) (table, error) {
	t := newTable("")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		return t, fmt.Errorf("mount table %s: %w", path, err)
	}
	return t, nil
}

// write replaces the file as a whole, so that a process killed at any moment leaves the table before or this one.
func (t table) write(path string) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("mount table: %w", err)
	}
	return nil
}

func (t table) copy() table {
	t.Staged, t.Published = maps.Clone(t.Staged), maps.Clone(t.Published)
	return t
}
