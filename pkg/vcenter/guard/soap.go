package guard

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vmware/govmomi/vim25/types"
)

// service is a SOAP API. A path belongs to one service, which does not know methods of others.
type service struct {
	name  string
	paths []string
	// spaces are the namespaces of its methods.
	spaces []string
	// reads reports whether a method reads.
	reads func(method string) bool
}

// services lists those that clients use: govc, the cloud provider, the CSI driver, and Cluster API.
func services() []service {
	return []service{
		{"vim25", []string{"/sdk", "/sdk/vimService"}, []string{"urn:vim25"}, vimReads},
		{"pbm", []string{"/pbm", "/pbm/sdk"}, []string{"urn:pbm", "urn:internalpbm"}, pbmReads},
		{"vsan", []string{"/vsanHealth"}, []string{"urn:vsan", "urn:vim25"}, vsanReads}, // govmomi reads properties there, too
		{"vslm", []string{"/vslm", "/vslm/sdk"}, []string{"urn:vslm"}, vslmReads},
		{"lookup", []string{"/lookupservice/sdk"}, []string{"urn:lookup"}, lookupReads},
		{"sso", []string{"/sso-adminserver/sdk", "/sso-adminserver/sdk/*"}, []string{"urn:sso"}, ssoReads},
		{tokens, []string{"/sts/STSService", "/sts/STSService/*"}, []string{trustSpace}, func(method string) bool { return method == "RequestSecurityToken" }},
	}
}

// The requests of the token service are not methods of an object.
const (
	tokens     = "sts"
	trustSpace = "http://docs.oasis-open.org/ws-sx/ws-trust/200512"
)

// serviceAt returns the service of a path.
func serviceAt(p string) (service, bool) {
	for _, s := range services() {
		for _, pattern := range s.paths {
			if matches(pattern, p) {
				return s, true
			}
		}
	}
	return service{}, false
}

// SOAP reports whether a request goes to a SOAP service, so that its answer is a fault.
func SOAP(r *http.Request) bool {
	_, ok := serviceAt(r.URL.Path)
	return ok && r.Method == http.MethodPost
}

// soapAction matches the allowed values of the header: the version of an API, without a method.
var soapAction = regexp.MustCompile(`^"?(urn:(vim25|vsan|pbm|internalpbm|vslm|lookup|sso)(/[A-Za-z0-9. _-]{0,40})?)?"?$`)

// inSOAP returns the intent of a call.
func (s service) inSOAP(r *http.Request, body []byte) (Intent, error) {
	in := Intent{Method: r.Method + " " + r.URL.Path}
	if err := contentType(r, "text/xml", true); err != nil {
		return in, err
	}
	if r.URL.RawQuery != "" {
		return in, errors.New("a call of SOAP takes no query")
	}
	root, err := readXML(body)
	if err != nil {
		return in, fmt.Errorf("the body is no call of SOAP: it %w", err)
	}
	call, err := theCall(root)
	if err != nil {
		return in, fmt.Errorf("the body is no call of SOAP: %w", err)
	}
	in.Method, in.Operation = call.local, call.local
	// govmomi signs a login with a token, and sets no namespace then.
	signed := call.space == "" && slices.Contains([]string{"LoginByToken", "Login"}, call.local)
	if !slices.Contains(s.spaces, call.space) && !signed {
		return Intent{Method: call.local}, fmt.Errorf("%q is a method of %q, which is not what %s is for", call.local, call.space, r.URL.Path)
	}
	if err := s.action(r, call); err != nil {
		return Intent{Method: call.local}, err
	}
	in.body, in.contentType = root.encode(), `text/xml; charset="utf-8"`
	if s.name == tokens {
		if !s.reads(call.local) {
			return Intent{Method: call.local}, fmt.Errorf("%q is nothing that the guard knows of the token service", call.local)
		}
		return in, nil // a token is only used for logins
	}
	if err := plainArguments(call); err != nil {
		return Intent{Method: call.local}, err
	}
	arguments, err := call.elements()
	if err != nil {
		return Intent{Method: call.local}, err
	}
	this := slices.DeleteFunc(slices.Clone(arguments), func(n *node) bool { return n.local != "_this" })
	if len(this) != 1 {
		return Intent{Method: call.local}, fmt.Errorf("%q is called on %d objects, where one is due", call.local, len(this))
	}
	if in.This, err = reference(this[0]); err != nil {
		return Intent{Method: call.local}, err
	}
	if s.reads(call.local) {
		return in, nil
	}
	in.Write = true
	if undoable, ok := s.undoable()[call.local]; ok {
		undoable(&in, call, arguments)
	}
	return in, nil
}

// action checks the header by which some servers choose a method: it must not name one.
func (s service) action(r *http.Request, call *node) error {
	said := r.Header.Get("Soapaction")
	if s.name != tokens {
		if !soapAction.MatchString(said) {
			return fmt.Errorf("the SOAPAction %q is no version of an API", said)
		}
		return nil
	}
	kind, ok := strings.CutPrefix(strings.Trim(said, `"`), trustSpace+"/RST/")
	if said == "" {
		return nil
	}
	for _, c := range call.children {
		if text, err := c.content(); c.local == "RequestType" && err == nil {
			ok = ok && text == trustSpace+"/"+kind
		}
	}
	if !ok {
		return fmt.Errorf("the SOAPAction %q is not what the body asks for", said)
	}
	return nil
}

// theCall returns the only method call of an envelope.
func theCall(root *node) (*node, error) {
	if root.space != envelopeSpace || root.local != "Envelope" {
		return nil, fmt.Errorf("its root is %q of %q", root.local, root.space)
	}
	parts, err := root.elements()
	if err != nil {
		return nil, err
	}
	if len(parts) == 2 && parts[0].local == "Header" && parts[0].space == envelopeSpace {
		headers, err := parts[0].elements()
		if err != nil {
			return nil, err
		}
		for _, h := range headers {
			if !slices.Contains([]string{"operationID", "vcSessionCookie", "Security"}, h.local) {
				return nil, fmt.Errorf("its header has a %q", h.local)
			}
		}
		parts = parts[1:]
	}
	if len(parts) != 1 || parts[0].local != "Body" || parts[0].space != envelopeSpace {
		return nil, errors.New("it has something else than a header and one body")
	}
	calls, err := parts[0].elements()
	if err != nil {
		return nil, err
	}
	if len(calls) != 1 {
		return nil, fmt.Errorf("it calls %d methods, where one is due", len(calls))
	}
	return calls[0], nil
}

// plainArguments checks that arguments only have attributes of the vSphere API: others may refer to another element.
func plainArguments(n *node) error {
	for _, a := range n.attributes {
		known := a.declares || a.space == "" && (a.local == "type" || a.local == "serverGuid") || a.space == instanceSpace && (a.local == "type" || a.local == "nil")
		if !known {
			return fmt.Errorf("%q has an attribute %q, which the vSphere API does not know", n.local, a.local)
		}
	}
	for _, c := range n.children {
		if err := plainArguments(c); err != nil {
			return err
		}
	}
	return nil
}

// reference parses a reference to an object.
func reference(n *node) (types.ManagedObjectReference, error) {
	value, err := n.content()
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	ref := types.ManagedObjectReference{Type: n.attribute("type"), Value: value}
	if value == "" || strings.ContainsFunc(ref.Type+value, func(c rune) bool { return c <= ' ' || unicode.IsSpace(c) }) { // a space may count, or not
		return types.ManagedObjectReference{}, fmt.Errorf("%q refers to no object", n.local)
	}
	return ref, nil
}

// undoable returns the methods that write and can be reverted. Each checks all arguments: with an unknown or duplicate one, the
// intent has no VM, and is refused.
func (s service) undoable() map[string]func(in *Intent, call *node, arguments []*node) {
	switch s.name {
	case "vim25":
		return map[string]func(*Intent, *node, []*node){
			"PowerOnVM_Task":  powered(power, poweredOn),
			"PowerOffVM_Task": powered(power, poweredOff),
			"SuspendVM_Task":  powered(power, suspended),
			"ShutdownGuest":   powered(askGuest, poweredOff),
			"StandbyGuest":    powered(askGuest, suspended),
			"ResetVM_Task":    powered(reset, ""),
			"RebootGuest":     powered(reset, ""),
			"Rename_Task":     renamed,
		}
	case "vsan":
		return map[string]func(*Intent, *node, []*node){
			"CnsAttachVolume": moved("attachSpecs", attachVolume),
			"CnsDetachVolume": moved("detachSpecs", detachVolume),
		}
	}
	return nil
}

// powered handles a method of a VM without arguments.
func powered(kind, state string) func(*Intent, *node, []*node) {
	return func(in *Intent, call *node, arguments []*node) {
		if in.This.Type != "VirtualMachine" || exactly(call, arguments, "_this") == nil {
			return
		}
		in.VM, in.Do.Kind = in.This, kind
		if state != "" {
			in.Do.With = map[string]string{to: state}
		}
	}
}

func renamed(in *Intent, call *node, arguments []*node) {
	said := exactly(call, arguments, "_this", "newName")
	if in.This.Type != "VirtualMachine" || said == nil {
		return
	}
	if called, err := said["newName"].content(); err == nil && called != "" {
		in.VM, in.Do.Kind, in.Do.With = in.This, rename, map[string]string{to: called}
	}
}

// moved handles the attachment or detachment of one volume. Arguments for how a disk is attached are refused, because a revert
// would not know them.
func moved(spec, kind string) func(*Intent, *node, []*node) {
	return func(in *Intent, call *node, arguments []*node) {
		said := exactly(call, arguments, "_this", spec)
		if said == nil {
			return
		}
		parts, err := said[spec].elements()
		if err != nil {
			return
		}
		of := exactly(call, parts, "volumeId", "vm")
		if of == nil {
			return
		}
		ids, err := of["volumeId"].elements()
		if err != nil {
			return
		}
		volume := exactly(call, ids, "id")
		if volume == nil {
			return
		}
		id, err := volume["id"].content()
		vm, wrong := reference(of["vm"])
		if err == nil && wrong == nil && id != "" && vm.Type == "VirtualMachine" {
			in.VM, in.Do.Kind, in.Do.With = vm, kind, map[string]string{volumeID: id}
		}
	}
}

// exactly returns elements by name if these are all, each once and in the method's namespace; otherwise nil.
func exactly(call *node, all []*node, names ...string) map[string]*node {
	if len(all) != len(names) {
		return nil
	}
	found := map[string]*node{}
	for _, n := range all {
		if slices.Contains(names, n.local) && n.space == call.space {
			found[n.local] = n
		}
	}
	if len(found) != len(names) {
		return nil
	}
	return found
}
