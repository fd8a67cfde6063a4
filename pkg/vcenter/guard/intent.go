package guard

import (
	"net/http"
	"path"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// Intent is what a request is going to do.
type Intent struct {
	// Method is what messages call it.
	Method string
	// This is the object that a method of SOAP is called on; zero for others.
	This types.ManagedObjectReference
	// Write tells that it changes something.
	Write bool
	// VM is the one that it changes, Do what is done to it; both are zero for a write that is not among those that can be
	// let through.
	VM types.ManagedObjectReference
	Do journal.Action
}

// SOAP tells whether a request is one of SOAP, by where it goes and what it holds.
func SOAP(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "text/xml") || strings.HasPrefix(kind, "application/soap+xml") || r.Method == http.MethodPost && !under(r.URL.Path, "/rest") && !under(r.URL.Path, "/api")
}

// Look says what a request is going to do; body is all of it. A request that is not understood is an error, and not to be let
// through.
func Look(r *http.Request, body []byte) (Intent, error) {
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		return Intent{Method: r.Method + " " + r.URL.Path}, nil
	case ambiguous(r):
		return Intent{Method: r.Method + " " + r.URL.Path, Write: true}, nil
	case under(r.URL.Path, "/rest"), under(r.URL.Path, "/api"):
		return inREST(r, body)
	case under(r.URL.Path, "/sdk/vim25"):
		return inJSON(r), nil
	case r.Method == http.MethodPost && under(r.URL.Path, "/sts"):
		return Intent{Method: "POST /sts"}, nil // tokens, which are nothing but a way to log in
	case r.Method == http.MethodPost && SOAP(r):
		c, err := readSOAP(body)
		if err != nil {
			return Intent{}, err
		}
		return inSOAP(c), nil
	}
	return Intent{Method: r.Method + " " + r.URL.Path, Write: true}, nil // files
}

// inJSON is a method of the vSphere API in JSON: /sdk/vim25/8.0.2.0/VirtualMachine/vm-1/PowerOnVM_Task. Of those only what
// reads is let through.
func inJSON(r *http.Request) Intent {
	method := path.Base(r.URL.Path)
	return Intent{Method: method, Write: !reads(method)}
}

// ambiguous tells whether somebody else may take the path of a request for another one.
func ambiguous(r *http.Request) bool {
	escaped := strings.ToLower(r.URL.EscapedPath())
	return path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") || strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%2e")
}

func under(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}
