package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// Process is a child of a sandbox.
type Process struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`

	// Start distinguishes the process from a later one with the same pid, in a form of the system; empty if it has none.
	Start string `json:"start,omitempty"`
}

// Journal is the list of the processes that a sandbox has started, kept on disk so that a later command can end them
// after the sandbox was killed. It may be used from any goroutine.
type Journal struct {
	path  string
	owned func() error
	mu    sync.Mutex
}

// entry is a line of the journal. A process is alive when its last entry is
// not Exited.
type entry struct {
	Process
	Exited bool `json:"exited,omitempty"`
}

// Started records a new process: at once, since an unrecorded one is not cleaned up. It must lead a
// process group, which is cleaned up as a whole.
func (j *Journal) Started(name string, pid int) error {
	return j.append(entry{Process: Process{Name: name, PID: pid, Start: startOf(pid)}})
}

// Exited notes that a process has ended and been reaped.
func (j *Journal) Exited(name string, pid int) error {
	return j.append(entry{Process: Process{Name: name, PID: pid}, Exited: true})
}

func (j *Journal) append(e entry) error {
	if err := j.owned(); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	file, err := private.Open(j.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	// The newline comes first too, so that a line cut short by a full disk does
	// not spoil the next one.
	_, err = file.Write(append(append([]byte("\n"), line...), '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// readJournal returns the processes that have been started and, as far as the
// journal goes, not ended. Lines it cannot read were cut short.
func readJournal(path string) ([]Process, error) {
	text, err := private.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	alive := map[int]Process{}
	var order []int
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.PID <= 1 {
			continue
		}
		if e.Exited {
			delete(alive, e.PID)
			continue
		}
		alive[e.PID] = e.Process
		order = append(order, e.PID)
	}
	var processes []Process
	for _, pid := range order {
		if p, ok := alive[pid]; ok {
			processes = append(processes, p)
			delete(alive, pid)
		}
	}
	return processes, nil
}
