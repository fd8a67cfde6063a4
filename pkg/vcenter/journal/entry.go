package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Action is something to do to a VM. Kind is a word of the caller's ("power-off"), With what it needs. An action that is
// an undo has to bear being done twice, and being done where there is nothing to undo: it says what is to be, not what to
// change.
type Action struct {
	Kind string            `json:"kind"`
	With map[string]string `json:"with,omitempty"`
}

// Entry is one write.
type Entry struct {
	// Seq counts from 1; Journal.Write sets it, and Time.
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	// VCenter is the name of the vCenter, Ref the VM there, VM its path, for people.
	VCenter string                       `json:"vcenter"`
	Ref     types.ManagedObjectReference `json:"ref"`
	VM      string                       `json:"vm"`
	// InstanceUUID is the VM's. References are numbered anew in every vCenter: who takes something back after a while looks
	// first whether Ref is still this VM. Empty where it was not known.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// Do is what is done, Undo what takes it back.
	Do   Action `json:"do"`
	Undo Action `json:"undo"`
}

func (e *Entry) check() error {
	if e.VCenter == "" || e.Ref.Value == "" || e.Do.Kind == "" || e.Undo.Kind == "" {
		return errors.New("journal: an entry needs vCenter, VM, what is done and what takes it back")
	}
	return nil
}

// line is a line of the file: an entry before it is done, or what became of one.
type line struct {
	*Entry `json:",omitempty"`
	Done   int    `json:"done,omitempty"`
	Failed int    `json:"failed,omitempty"`
	Why    string `json:"why,omitempty"`
	// Reverted says that the entry of that number is taken back.
	Reverted int `json:"reverted,omitempty"`
}

// apply takes a line in.
func (j *Journal) apply(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	switch {
	case l.Entry != nil && l.Entry.Seq > 0:
		if l.Seq <= j.last {
			return fmt.Errorf("entry %d comes after entry %d", l.Seq, j.last)
		}
		j.last = l.Seq
		j.pending = append(j.pending, *l.Entry)
	case l.Reverted > 0:
		j.forget(l.Reverted)
	case l.Done > 0, l.Failed > 0:
	default:
		return errors.New("is no line of a journal")
	}
	return nil
}
