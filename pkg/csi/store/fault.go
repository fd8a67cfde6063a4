package store

import (
	"context"
	"errors"
	"reflect"
	"strings"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// faultError is a vCenter's fault: the response to a call, the end of a task, or part of a task's result, where CNS puts most of
// them.
type faultError struct {
	// kind is one of package volume's errors; nil if none matches.
	kind    error
	fault   types.BaseMethodFault
	message string // vCenter's own
}

// Error is "in use: ResourceInUse: The resource 'volume' is in use."
func (e *faultError) Error() string {
	s := faultName(e.fault)
	if e.message != "" {
		s += ": " + e.message
	}
	if e.kind != nil {
		s = e.kind.Error() + ": " + s
	}
	return s
}

// Unwrap returns the kind.
func (e *faultError) Unwrap() error { return e.kind }

// newFault returns the error for a fault and its message.
func newFault(f types.BaseMethodFault, message string) *faultError {
	e := &faultError{fault: f, message: messageOf(f, message)}
	e.kind = kindOf(f, e.message)
	return e
}

// fromSOAP returns the fault in the response to a call, or nil if err is of another kind.
func fromSOAP(err error) *faultError {
	var s interface{ Fault() types.BaseMethodFault }
	if !errors.As(err, &s) || s.Fault() == nil {
		return nil
	}
	return newFault(s.Fault(), err.Error())
}

// fromResult returns the fault of a task or of its result, or nil.
func fromResult(f *types.LocalizedMethodFault) *faultError {
	switch {
	case f == nil:
		return nil
	case f.Fault == nil:
		return newFault(&types.MethodFault{}, f.LocalizedMessage)
	}
	return newFault(f.Fault, f.LocalizedMessage)
}

// messageOf joins all messages of a fault.
func messageOf(f types.BaseMethodFault, message string) string {
	message = strings.TrimPrefix(message, "ServerFaultCode: ")
	if strings.TrimLeft(message, "*") == reflect.TypeOf(f).Elem().String() || message == faultName(f) {
		message = "" // the name of a Go type: vcsim has no message
	}
	words := []string{}
	add := func(s string) {
		if s != "" && !strings.Contains(strings.Join(words, "; "), s) {
			words = append(words, s)
		}
	}
	add(message)
	if c, ok := f.(cnstypes.BaseCnsFault); ok {
		add(c.GetCnsFault().Reason)
	}
	if m := f.GetMethodFault(); m != nil {
		for _, said := range m.FaultMessage {
			add(said.Message)
		}
	}
	add(vcenter.Lacking(f))
	return strings.Join(words, "; ")
}

// faultName returns the name of a fault's type: "ResourceInUse".
func faultName(f types.BaseMethodFault) string {
	if f == nil {
		return "fault"
	}
	t := reflect.TypeOf(f)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// faultOf returns the fault in err, or nil.
func faultOf(err error) types.BaseMethodFault {
	if e, ok := errors.AsType[*faultError](err); ok {
		return e.fault
	}
	return nil
}

// kindOf classifies a fault by type, and by message where vCenter has one type for several failures. It returns nil for an
// unknown reason, which the caller may classify.
func kindOf(f types.BaseMethodFault, message string) error {
	if kind := exactKind(f); kind != nil {
		return kind
	}
	switch f.(type) {
	case types.BaseNoPermission:
		return volume.ErrPermission
	case types.BaseInvalidDatastore:
		return volume.ErrState
	case types.BaseInvalidState, types.BaseHostCommunication, types.BaseHostConnectFault:
		return volume.ErrState
	case types.BaseResourceInUse:
		return volume.ErrInUse
	}
	if kind := messageKind(message); kind != nil {
		return kind
	}
	switch f.(type) {
	case types.BaseNotSupported:
		return volume.ErrNotSupported
	case types.BaseInvalidArgument:
		return volume.ErrInvalid
	case types.BaseInsufficientResourcesFault:
		return volume.ErrState
	}
	return causeKind(f)
}

// causeKind classifies the fault behind a fault: CNS wraps all that vSphere refuses in one type.
func causeKind(f types.BaseMethodFault) error {
	m := f.GetMethodFault()
	if m == nil || m.FaultCause == nil || m.FaultCause.Fault == nil {
		return nil
	}
	return kindOf(m.FaultCause.Fault, m.FaultCause.LocalizedMessage)
}

// exactKind classifies the unambiguous types.
func exactKind(f types.BaseMethodFault) error {
	switch f := f.(type) {
	case *types.NotFound, *cnstypes.CnsVolumeNotFoundFault, *cnstypes.CnsNotRegisteredFault, *cnstypes.CnsSnapshotNotFoundFault:
		return volume.ErrNotFound
	case *types.ManagedObjectNotFound:
		return goneKind(f.Obj)
	case *types.NoDiskSpace, *types.InsufficientStorageSpace, *types.InsufficientStorageIops:
		return volume.ErrNoSpace
	case *types.TooManyDevices, *types.MissingController:
		return volume.ErrNoSlot
	case *types.FileLocked:
		return volume.ErrInUse
	case *types.TaskInProgress:
		return volume.ErrPending
	case *types.TooManySnapshotLevels:
		return volume.ErrLimit
	case *types.FileNotFound:
		return volume.ErrState
	}
	return nil
}

// goneKind classifies a missing object by its type.
func goneKind(obj types.ManagedObjectReference) error {
	switch obj.Type {
	case "VirtualMachine":
		return volume.ErrNodeGone
	case "Datastore":
		return volume.ErrNoDatastore
	}
	return nil
}

// messageKind classifies faults without a specific type by their messages: those of CNS in vSphere 7 and 8, in English, because
// sessions log in with that locale (package vcenter).
func messageKind(message string) error {
	message = strings.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(message, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("scsi controller", "scsi slot", "no free unit", "maximum number of devices", "number of virtual devices exceeds"):
		return volume.ErrNoSlot
	case has("no space", "not enough space", "insufficient disk space", "not enough free space", "insufficient space", "out of space"):
		return volume.ErrNoSpace
	case has("snapshot") && has("maximum", "limit"):
		return volume.ErrLimit
	case has("snapshot") && has("has snapshot", "have snapshot", "with snapshot", "snapshots exist", "existing snapshot", "snapshots are present"):
		return volume.ErrSnapshots
	case has("not accessible", "inaccessible"):
		return volume.ErrState
	}
	return nil
}

// ErrorReason returns a short word for an error of a [Store], for metrics and logs: "ok" for nil, "error" for an unknown failure.
func ErrorReason(err error) string {
	if err == nil {
		return "ok"
	}
	for _, r := range reasons() {
		if errors.Is(err, r.is) {
			return r.word
		}
	}
	return "error"
}

type reason struct {
	is   error
	word string
}

func reasons() []reason {
	return []reason{
		{volume.ErrPending, "pending"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{volume.ErrNotFound, "not-found"},
		{volume.ErrNodeGone, "node-gone"},
		{volume.ErrInUse, "in-use"},
		{volume.ErrSnapshots, "snapshots"},
		{volume.ErrNoSlot, "no-slot"},
		{volume.ErrNoSpace, "no-space"},
		{volume.ErrNoDatastore, "no-datastore"},
		{volume.ErrExists, "exists"},
		{volume.ErrInvalid, "invalid"},
		{volume.ErrState, "state"},
		{volume.ErrPermission, "permission"},
		{volume.ErrUnavailable, "unavailable"},
		{volume.ErrLimit, "limit"},
		{volume.ErrNotSupported, "not-supported"},
	}
}
