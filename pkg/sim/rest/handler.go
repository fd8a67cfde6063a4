package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Sessions manages the sessions of REST. Its methods are safe for concurrent use.
type Sessions interface {
	// OpenREST opens a session for an authenticated user. It fails if the limit is reached.
	OpenREST(user string) (id string, err error)
	// CloseREST ends a session, if it exists.
	CloseREST(id string)
	// TouchREST is called for every call of a session: it returns the user, and false if the session has ended.
	TouchREST(id string) (user string, ok bool)
}

// Options configures [New].
type Options struct {
	// Base is the context of the vCenter. Required.
	Base *simulator.Context
	// Next handles all but sessions and tagging: vcsim's vAPI simulator. [Handler] opens its sessions. Default: not found.
	Next http.Handler
	// Sessions manages the sessions. Required.
	Sessions Sessions
	// Valid reports whether the password is the user's. Required.
	Valid func(user, password string) bool
	// MayRead reports whether the user may see an object, MayWrite whether the user may tag it; for categories and tags it is
	// called with the root folder. They are called for inventory objects only, and without locks. Default: yes.
	MayRead, MayWrite func(user string, object vc.Ref) bool
	// MayCall reports whether the user may make a call that Next answers. Default: yes.
	MayCall func(user, method, path string) bool
	// Token returns the user of the token in an Authorization header. Default: no token is valid.
	Token func(authorization string) (user string, ok bool)
	// Client makes SOAP calls in the name of a session's user. Default: Next answers calls on VMs.
	Client func(session string) soap.RoundTripper
	// Stock names the behaviors that vcsim keeps: tags (no validation), api-tags and api-session (Next answers).
	Stock stock.Set
	// Events receives the events of tags. Nil: none.
	Events *event.Log
	// VCenter is the name of the vCenter in events.
	VCenter string
}

// Handler is the REST API of one vCenter. Create one with [New]. Its methods are safe for concurrent use.
type Handler struct {
	opts       Options
	store      *store
	causes     causes
	watch      *watch
	inner      *inner
	details    details
	operations map[route]operation
	root       vc.Ref // root folder
	instance   string // UUID of the vCenter
}

var _ http.Handler = (*Handler)(nil)

// New returns the REST API of the vCenter of Base and follows its inventory until [Handler.Close]. Passed to vcsim with
// Service.Handle it also serves vcsim's operations with tags: tag specs of VMs, tags of first-class disks.
func New(options Options) *Handler {
	if options.Next == nil {
		options.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			noOperation().write(w, isAPI(r.URL.Path))
		})
	}
	yes := func(string, vc.Ref) bool { return true }
	if options.MayCall == nil {
		options.MayCall = func(_, _, _ string) bool { return true }
	}
	if options.Token == nil {
		options.Token = func(string) (string, bool) { return "", false }
	}
	if options.MayRead == nil {
		options.MayRead = yes
	}
	if options.MayWrite == nil {
		options.MayWrite = yes
	}
	h := &Handler{
		opts:    options,
		store:   newStore(options.Stock.Has(stock.Tags)),
		inner:   &inner{next: options.Next},
		details: details{of: make(map[string]*detail)},
	}
	h.operations = h.routes()
	if s, ok := options.Base.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance); ok {
		h.root = plain(s.Content.RootFolder)
		h.instance = s.Content.About.InstanceUuid
	}
	h.watch = newWatch(options.Base.Map, h.store)
	return h
}

// Close stops following the inventory and ends the session with Next. Calls are still answered.
func (h *Handler) Close() {
	h.watch.close()
	h.inner.close()
}

const (
	restPrefix  = "/rest"
	apiPrefix   = "/api"
	restSession = "/rest/com/vmware/cis/session"
	apiSession  = "/api/session"
	restTagging = "/rest/com/vmware/cis/tagging/"
	apiTagging  = "/api/cis/tagging/"
	restData    = "/rest/com/vmware/cis/data/" // uploads to and downloads from libraries
)

// ServeHTTP answers a call below /rest or /api.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == restSession:
		h.session(w, r, false)
	case path == apiSession && !h.opts.Stock.Has(stock.APISession):
		h.session(w, r, true)
	case strings.HasPrefix(path, restTagging):
		h.tagging(w, r, strings.TrimPrefix(path, restTagging), false)
	case strings.HasPrefix(path, apiTagging) && !h.opts.Stock.Has(stock.APITags):
		h.tagging(w, r, strings.TrimPrefix(path, apiTagging), true)
	case path == apiPrefix && r.Method == http.MethodPost:
		h.invoke(w, r)
	default:
		if after, ok := vmPath(path); ok && h.opts.Client != nil && !strings.Contains(after, "/data-sets") {
			h.vms(w, r, after, isAPI(path))
			return
		}
		h.pass(w, r)
	}
}

// isAPI reports whether the path has the newer form.
func isAPI(path string) bool { return path == apiPrefix || strings.HasPrefix(path, apiPrefix+"/") }

// exists reports whether an object can be tagged. It does not check objects outside of the inventory.
func (h *Handler) exists(ref vc.Ref) bool {
	if h.store.lenient || content(ref) {
		return true
	}
	return inventory(ref) && h.watch.has(ref)
}

// mayRead and mayWrite check inventory objects; others have no permissions.
func (h *Handler) mayRead(user string, ref vc.Ref) bool {
	return !inventory(ref) || h.opts.MayRead(user, registered(ref))
}

func (h *Handler) mayWrite(user string, ref vc.Ref) bool {
	return !inventory(ref) || h.opts.MayWrite(user, registered(ref))
}

// content reports whether the reference is to a content library or an item of one.
func content(ref vc.Ref) bool {
	return ref.Type == "com.vmware.content.Library" || ref.Type == "com.vmware.content.library.Item"
}

// inventory reports whether the reference is to an object of the inventory, by its type.
func inventory(ref vc.Ref) bool {
	switch ref.Type {
	case "Folder", "StoragePod", "Datacenter",
		"ClusterComputeResource", "ComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine",
		"Datastore", "Network", "HostNetwork", "OpaqueNetwork", "DistributedVirtualPortgroup",
		"DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return true
	}
	return false
}

// routes lists the operations of tagging. /rest has both forms of operations on a single category or tag: with the identifier in
// the path or in the body.
func (h *Handler) routes() map[route]operation {
	const (
		categories   = "category"
		tags         = "tag"
		associations = "tag-association"
	)
	m := make(map[route]operation)
	plain := func(service, method string, id bool, run func(*call) (any, error)) {
		m[route{service: service, method: method, id: id}] = operation{run: run, created: method == http.MethodPost}
	}
	action := func(service, name string, id bool, run func(*call) (any, error)) {
		m[route{service, http.MethodPost, name, id}] = operation{run: run}
	}
	either := func(service, name string, run func(*call) (any, error)) {
		action(service, name, true, run)
		action(service, name, false, run)
	}

	plain(categories, http.MethodGet, false, h.categoryList)
	plain(categories, http.MethodPost, false, h.categoryCreate)
	plain(categories, http.MethodGet, true, h.categoryGet)
	plain(categories, http.MethodPatch, true, h.categoryUpdate)
	plain(categories, http.MethodDelete, true, h.categoryDelete)
	action(categories, "list-used-categories", false, h.categoryListUsed)
	either(categories, "add-to-used-by", h.categoryUse(true))
	either(categories, "remove-from-used-by", h.categoryUse(false))
	either(categories, "revoke-propagating-permissions", h.categoryRevoke)

	plain(tags, http.MethodGet, false, h.tagList)
	plain(tags, http.MethodPost, false, h.tagCreate)
	plain(tags, http.MethodGet, true, h.tagGet)
	plain(tags, http.MethodPatch, true, h.tagUpdate)
	plain(tags, http.MethodDelete, true, h.tagDelete)
	action(tags, "list-used-tags", false, h.tagListUsed)
	either(tags, "list-tags-for-category", h.tagListForCategory)
	either(tags, "add-to-used-by", h.tagUse(true))
	either(tags, "remove-from-used-by", h.tagUse(false))
	either(tags, "revoke-propagating-permissions", h.tagRevoke)

	either(associations, "attach", h.attach)
	either(associations, "detach", h.detach)
	either(associations, "list-attached-objects", h.listAttachedObjects)
	either(associations, "attach-tag-to-multiple-objects", h.attachToMany)
	either(associations, "detach-tag-from-multiple-objects", h.detachFromMany)
	action(associations, "attach-multiple-tags-to-object", false, h.attachMany)
	action(associations, "detach-multiple-tags-from-object", false, h.detachMany)
	action(associations, "list-attached-tags", false, h.listAttachedTags)
	action(associations, "list-attachable-tags", false, h.listAttachableTags)
	action(associations, "list-attached-tags-on-objects", false, h.listAttachedTagsOnObjects)
	action(associations, "list-attached-objects-on-tags", false, h.listAttachedObjectsOnTags)
	return m
}

// message is a localizable message of vAPI.
type message struct {
	Args    []string `json:"args"`
	Default string   `json:"default_message"`
	ID      string   `json:"id"`
}

// fault is an error of vAPI: com.vmware.vapi.std.errors.<kind>.
type fault struct {
	kind     string
	messages []message
}

// The kinds of fault, by their names in com.vmware.vapi.std.errors.
const (
	notFound        = "not_found"
	alreadyExists   = "already_exists"
	invalidArgument = "invalid_argument"
	unauthenticated = "unauthenticated"
	unauthorized    = "unauthorized"
	unavailable     = "service_unavailable"
	internalError   = "internal_server_error"
	alreadyThere    = "already_in_desired_state"
	notAllowed      = "not_allowed_in_current_state"
	operationError  = "error"
	noSuchOperation = "operation_not_found"
)

// Identifiers of messages. Those of tagging without a comment are made up after the others.
const (
	msgObjectNotFound = "cis.tagging.objectNotFound.error"                         // seen: govmomi #2211
	msgCardinality    = "cis.tagging.attach.invalidArgument.cardinality.error"     // seen: govmomi #2211
	msgAssociable     = "cis.tagging.attach.invalidArgument.associableTypes.error" //
	msgDuplicateName  = "cis.tagging.duplicateName.error"                          //
	msgInvalid        = "cis.tagging.invalidArgument.error"                        //
	msgMissingField   = "vapi.data.structure.field.missing"                        // vAPI runtime
	msgForbidden      = "vapi.security.authorization.invalid"                      // vAPI runtime
	msgLogin          = "com.vmware.vapi.endpoint.method.authentication.required"  // seen on vCenter
	msgNoOperation    = "com.vmware.vapi.rest.httpNotFound"                        // seen on vCenter
	msgTooMany        = "com.vmware.vapi.endpoint.failedToLoginMaxUserSessionCountReached"
)

// newFault returns a fault with one message and its arguments.
func newFault(kind, id, text string, args ...string) *fault {
	if args == nil {
		args = []string{}
	}
	return &fault{kind: kind, messages: []message{{Args: args, Default: text, ID: id}}}
}

func missing(id string) *fault {
	return newFault(notFound, msgObjectNotFound, fmt.Sprintf("Tagging object %s not found", id), id)
}

func duplicate(what, name string) *fault {
	return newFault(alreadyExists, msgDuplicateName, fmt.Sprintf("%s %s already exists", what, name), name)
}

func invalid(format string, args ...any) *fault {
	return newFault(invalidArgument, msgInvalid, fmt.Sprintf(format, args...))
}

func forbidden() *fault { return newFault(unauthorized, msgForbidden, "Unable to authorize user") }

func loginRequired() *fault { return newFault(unauthenticated, msgLogin, "Authentication required.") }

func noOperation() *fault { return newFault(notFound, msgNoOperation, "Not found.") }

// Error implements error, for callers in Go.
func (f *fault) Error() string {
	text := make([]string, 0, len(f.messages))
	for _, m := range f.messages {
		text = append(text, m.Default)
	}
	return strings.ReplaceAll(f.kind, "_", " ") + ": " + strings.Join(text, "; ")
}

// status returns the HTTP status of the kind in vAPI's REST endpoint.
func (f *fault) status() int {
	switch f.kind {
	case notFound:
		return http.StatusNotFound
	case unauthenticated:
		return http.StatusUnauthorized
	case unauthorized:
		return http.StatusForbidden
	case unavailable:
		return http.StatusServiceUnavailable
	case internalError:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// challenge is the WWW-Authenticate header.
const challenge = `Basic realm="VAPI endpoint"`

// write answers with the fault, in the form of /api or of /rest.
func (f *fault) write(w http.ResponseWriter, api bool) {
	if f.kind == unauthenticated {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if !api {
		writeJSON(w, f.status(), struct {
			Type  string `json:"type"`
			Value any    `json:"value"`
		}{"com.vmware.vapi.std.errors." + f.kind, map[string]any{"messages": f.messages}})
		return
	}
	body := struct {
		Type      string    `json:"error_type"`
		Messages  []message `json:"messages"`
		Challenge string    `json:"challenge,omitempty"`
	}{Type: strings.ToUpper(f.kind), Messages: f.messages}
	if f.kind == unauthenticated {
		body.Challenge = challenge
	}
	writeJSON(w, f.status(), body)
}

// writeJSON answers with a value, ignoring a disconnected client.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
