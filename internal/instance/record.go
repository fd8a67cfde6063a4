package instance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// Record is what a sandbox writes down about itself for other commands.
type Record struct {
	Name      string    `json:"name"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt"`
	Version   string    `json:"version,omitempty"`
	Scenario  string    `json:"scenario,omitempty"`
	Ready     bool      `json:"ready"`

	// Retained says that the sandbox has ended and left its directory to be
	// looked at.
	Retained bool `json:"retained,omitempty"`

	// Settled says that the sandbox has crashed, that what ran of it has been ended since, and that its files are kept.
	Settled bool `json:"settled,omitempty"`

	// Left says that the sandbox has ended in order, and could not take back all that it had elsewhere.
	Left bool `json:"left,omitempty"`

	// Extra is additional data of the sandbox.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// WriteRecord replaces the record. A reader sees the old one or the new one,
// never a part, also when the disk is full; it is not made to survive a loss of
// power, which the sandbox does not either. Owner only.
func (d *Dir) WriteRecord(r Record) error {
	if err := d.owned(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("sandbox %q: record: %w", d.name, err)
	}
	if err := atomicfile.WriteFile(filepath.Join(d.path, recordName), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("sandbox %q: record: %w", d.name, err)
	}
	return nil
}

// ReadRecord returns the record written last; the error is an fs.ErrNotExist before the first.
func (d *Dir) ReadRecord() (Record, error) { return readRecord(d.path) }

func readRecord(path string) (Record, error) {
	text, err := private.ReadFile(filepath.Join(path, recordName))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s: %w", filepath.Join(path, recordName), err)
	}
	return r, nil
}
