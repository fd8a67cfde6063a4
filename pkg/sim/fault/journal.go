package fault

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// journal records how to undo each change, one JSON object a line. It seals the states of every kind: a kind need not declare
// that its state holds a password.
type journal struct {
	mu     sync.Mutex
	w      io.Writer // nil: none
	sealer Sealer
}

// Sealer encrypts the states in a journal. Its methods are safe for concurrent use.
type Sealer interface {
	// Seal encrypts plain so that only Unseal decrypts it, in this or a later process of the instance.
	Seal(plain []byte) (string, error)
	Unseal(sealed string) ([]byte, error)
}

// Record is an unhealed lease from a journal, with the states needed to revert it.
type Record struct {
	Lease  Lease
	states []string // of the targets, sealed
}

// entry is a line of the journal: a lease that begins (with Targets), the new state of a target (with Target), or a healed lease.
type entry struct {
	Lease   string        `json:"lease"`
	Kind    string        `json:"kind,omitempty"`
	Params  Values        `json:"params,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Seed    uint64        `json:"seed,omitempty"`
	Since   time.Time     `json:"since,omitzero"`
	Until   time.Time     `json:"until,omitzero"`
	Targets []entryTarget `json:"targets,omitempty"`

	Target *int   `json:"target,omitempty"`
	Sealed string `json:"sealed,omitempty"`

	Healed bool `json:"healed,omitempty"`
}

type entryTarget struct {
	Item
	Does   string `json:"does,omitempty"`
	Sealed string `json:"sealed"`
}

func (j *journal) begun(l *lease) error {
	if j.w == nil {
		return nil
	}
	e := entry{Lease: l.ID, Kind: l.Kind, Params: l.Params, Mode: l.Mode, Seed: l.Seed, Since: l.Since, Until: l.Until}
	for n, t := range l.Targets {
		sealed, err := j.seal(l.states[n])
		if err != nil {
			return err
		}
		e.Targets = append(e.Targets, entryTarget{Item: t.Target, Does: t.Effect, Sealed: sealed})
	}
	return j.write(e)
}

func (j *journal) state(l *lease, n int) error {
	if j.w == nil || l.kind.over() {
		return nil
	}
	sealed, err := j.seal(l.states[n])
	if err != nil {
		return err
	}
	return j.write(entry{Lease: l.ID, Target: &n, Sealed: sealed})
}

func (j *journal) seal(state json.RawMessage) (string, error) {
	if j.sealer == nil {
		return "", errors.New("nothing to seal states with")
	}
	return j.sealer.Seal(state)
}

func (j *journal) unseal(sealed string) (json.RawMessage, error) {
	if j.sealer == nil {
		return nil, errors.New("nothing to unseal it with")
	}
	return j.sealer.Unseal(sealed)
}

func (j *journal) healed(l *lease) error { return j.write(entry{Lease: l.ID, Healed: true}) }

func (j *journal) write(e entry) error {
	if j.w == nil {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.w.Write(append(b, '\n'))
	return err
}

// OpenJournal opens a journal for appending, readable only by its owner.
func OpenJournal(path string) (*os.File, error) {
	return private.Open(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
}

// ReadJournal returns the unhealed leases of a journal, oldest first. It ignores a truncated last line, because the change that
// it announces did not begin. A missing file counts as empty.
func ReadJournal(path string) ([]Record, error) {
	f, err := private.Open(path, os.O_RDONLY)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var records []Record
	r := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return records, nil
		} else if err != nil {
			return records, err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return records, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		records = e.fold(records)
	}
}

// Adopt takes over leases from the journal of a killed process. They become Failed: what was done for them is unknown, and
// healing them is harmless. It refuses all of them if a kind is unknown or a state was sealed with another key.
func (e *Engine) Adopt(records []Record) error {
	leases := make([]*lease, len(records))
	for i, r := range records {
		kind, err := Find(e.kinds, r.Lease.Kind)
		if err != nil {
			return err
		}
		l := &lease{Lease: r.Lease, kind: kind, busy: make(chan struct{}, 1), states: make([]json.RawMessage, len(r.states)), begun: make([]bool, len(r.states))}
		for n := range l.begun {
			if l.states[n], err = e.journal.unseal(r.states[n]); err != nil {
				return fmt.Errorf("lease %s: state of %s: %w", r.Lease.ID, r.Lease.Targets[n].Target, err)
			}
			l.begun[n] = true
		}
		leases[i] = l
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range leases {
		e.last = max(e.last, l.number())
		e.leases = append(e.leases, l)
		e.changed(l)
	}
	return nil
}

// fold applies a line to the records.
func (e entry) fold(records []Record) []Record {
	at := slices.IndexFunc(records, func(r Record) bool { return r.Lease.ID == e.Lease })
	switch {
	case e.Targets != nil:
		r := Record{Lease: Lease{
			ID: e.Lease, Kind: e.Kind, State: Failed, Params: e.Params, Mode: e.Mode, Seed: e.Seed, Since: e.Since, Until: e.Until,
		}}
		for _, t := range e.Targets {
			r.Lease.Targets = append(r.Lease.Targets, Leased{Target: t.Item, Effect: t.Does, State: Failed})
			r.states = append(r.states, t.Sealed)
		}
		return append(records, r)
	case at < 0:
	case e.Healed:
		return slices.Delete(records, at, at+1)
	case e.Target != nil && *e.Target >= 0 && *e.Target < len(records[at].states):
		records[at].states[*e.Target] = e.Sealed
	}
	return records
}
