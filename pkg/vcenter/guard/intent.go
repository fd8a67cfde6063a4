package guard

import (
	"errors"
	"net/http"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// Intent is what a request is going to do. [Intent.Request] is the request that does it.
type Intent struct {
	// Method is what messages call it: a method of SOAP, or method, path and action.
	Method string
	// Operation is the method of SOAP that it calls; empty for others.
	Operation string
	// This is the object that a method of SOAP is called on; zero for others.
	This types.ManagedObjectReference
	// Write says that it changes something.
	Write bool
	// VM is the one that it changes, Do what is done to it; both are zero for a write that is not among those that can be
	// let through.
	VM types.ManagedObjectReference
	Do journal.Action

	// What is sent on.
	query       query
	body        []byte
	contentType string
}

// Look says what a request is going to do; body is all of it. A request that is not known is an error, and has to be refused:
// what reads, and what writes and can be taken back, is on lists of paths, methods and types. The method of SOAP is the one in
// the body, whatever a header says.
func Look(r *http.Request, body []byte) (Intent, error) {
	in, err := look(r, body)
	if err != nil {
		return Intent{Method: in.Method, Operation: in.Operation}, err
	}
	return in, nil
}

func look(r *http.Request, body []byte) (Intent, error) {
	in := Intent{Method: r.Method + " " + r.URL.Path}
	if err := framed(r); err != nil {
		return in, err
	}
	q, err := target(r.URL)
	if err != nil {
		return in, err
	}
	if r.Method != http.MethodPost && len(body) > 0 {
		return in, errors.New("it has a body, where none is due")
	}
	if s, ok := serviceAt(r.URL.Path); ok && r.Method == http.MethodPost {
		in, err = s.inSOAP(r, body)
	} else {
		in, err = inREST(r, q, body)
	}
	in.query = q
	return in, err
}
