package dialect

import (
	"bytes"
	"io"
	"net/http"
)

// The distributed switches of a vCenter are VmwareDistributedVirtualSwitch, a type that adds calls and no property. vcsim's have
// its base type, and must have it inside: govmomi applies a change of a property by the type of the reference, and panics if the
// Go type is another. So the type has the vCenter's name on the wire only.
var (
	innerSwitch = []byte(` type="DistributedVirtualSwitch"`)
	outerSwitch = []byte(` type="VmwareDistributedVirtualSwitch"`)

	outerQuoted  = []byte(` type='VmwareDistributedVirtualSwitch'`)
	outerElement = []byte(`>VmwareDistributedVirtualSwitch<`)
	innerElement = []byte(`>DistributedVirtualSwitch<`)
	outerName    = []byte(`VmwareDistributedVirtualSwitch`)
)

// InnerSwitches replaces the type of distributed switches by vcsim's in a document: in references, and in the types of property
// specifications and views.
func InnerSwitches(doc []byte) []byte {
	if !bytes.Contains(doc, outerName) {
		return doc
	}
	doc = bytes.ReplaceAll(doc, outerSwitch, innerSwitch)
	doc = bytes.ReplaceAll(doc, outerQuoted, innerSwitch)
	return bytes.ReplaceAll(doc, outerElement, innerElement)
}

// outerSwitches replaces the type of distributed switches in the references of an answer.
func outerSwitches(doc []byte) []byte {
	if !bytes.Contains(doc, innerSwitch) {
		return doc
	}
	return bytes.ReplaceAll(doc, innerSwitch, outerSwitch)
}

// inner returns the request with vcsim's types. A request whose body cannot be read stays as it is: vcsim reports that.
func inner(r *http.Request) *http.Request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return r
	}
	body = InnerSwitches(body)
	_ = r.Body.Close()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
