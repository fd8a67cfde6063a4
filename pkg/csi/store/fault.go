package store

import (
	"errors"
	"reflect"
	"strings"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// faultError is what a vCenter refused something with: as the answer to a call, as the end of a task, or inside a task's
// result, where CNS puts most of them.
type faultError struct {
	// kind is one of package volume's errors; nil where the fault says nothing that any of them does.
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

// newFault makes an error of a fault and what the vCenter says beside it.
func newFault(f types.BaseMethodFault, message string) *faultError {
	e := &faultError{fault: f, message: spoken(f, message)}
	e.kind = kindOf(f, e.message)
	return e
}

// fromSOAP returns the fault that answered a call; nil when err is of another kind.
func fromSOAP(err error) *faultError {
	var s interface{ Fault() types.BaseMethodFault }
	if !errors.As(err, &s) || s.Fault() == nil {
		return nil
	}
	return newFault(s.Fault(), err.Error())
}

// fromResult returns the fault in a task's end or in its result; nil when there is none.
func fromResult(f *types.LocalizedMethodFault) *faultError {
	switch {
	case f == nil:
		return nil
	case f.Fault == nil:
		return newFault(&types.MethodFault{}, f.LocalizedMessage)
	}
	return newFault(f.Fault, f.LocalizedMessage)
}

// spoken is all that a fault says in words.
func spoken(f types.BaseMethodFault, message string) string {
	message = strings.TrimPrefix(message, "ServerFaultCode: ")
	if strings.TrimLeft(message, "*") == reflect.TypeOf(f).Elem().String() || message == faultName(f) {
		message = "" // a Go type's name: vcsim has no words
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

// faultName is the name of a fault's type: "ResourceInUse".
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

// faultOf returns the fault that err holds; nil for none.
func faultOf(err error) types.BaseMethodFault {
	if e, ok := errors.AsType[*faultError](err); ok {
		return e.fault
	}
	return nil
}
