package rest

import (
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Sessions keeps the sessions of REST. All methods may be called concurrently.
type Sessions interface {
	// OpenREST opens a session for a user whose password was right. It fails when there are as many as there may be.
	OpenREST(user string) (id string, err error)
	// CloseREST ends a session. One that is gone is left alone.
	CloseREST(id string)
	// TouchREST is called for every call of a session: it tells whose it is, and is false when it is over.
	TouchREST(id string) (user string, ok bool)
}

// Options of [New].
type Options struct {
	// Base is the vCenter's own context. Required.
	Base *simulator.Context
	// Next answers what is not sessions and tagging: vcsim's vAPI simulator. Its sessions are opened by [Handler] itself.
	// Default: nothing is there.
	Next http.Handler
	// Sessions keeps the sessions. Required.
	Sessions Sessions
	// Valid reports whether the password is the user's. Required.
	Valid func(user, password string) bool
	// MayRead reports whether the user may see an object, MayWrite whether the user may tag it; categories and tags
	// themselves are written as the root folder is. They are asked about objects of the inventory only, and called without
	// locks. Default: yes.
	MayRead, MayWrite func(user string, object vc.Ref) bool
	// Stock is what is left as vcsim has it: tags (nothing is checked), api-tags and api-session (Next answers).
	Stock stock.Set
	// Events receives what happens to tags; nil means that nobody wants to know.
	Events *event.Log
	// VCenter is the name that events carry.
	VCenter string
}

// Handler is the REST side of one vCenter. Make one with [New]. All methods are safe for concurrent use.
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

// New makes the REST side of the vCenter of Base and begins to follow its inventory, until [Handler.Close]. Given to
// vcsim with Service.Handle it is also what vcsim's own operations with tags work on: tag specs of VMs, tags of
// first-class disks.
func New(options Options) *Handler {
	if options.Next == nil {
		options.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			noOperation().write(w, isAPI(r.URL.Path))
		})
	}
	yes := func(string, vc.Ref) bool { return true }
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
	default:
		h.pass(w, r)
	}
}

// isAPI tells the newer form from the older.
func isAPI(path string) bool { return path == apiPrefix || strings.HasPrefix(path, apiPrefix+"/") }

// exists reports whether there is such an object to tag. What is not of the inventory is the business of others.
func (h *Handler) exists(ref vc.Ref) bool {
	if h.store.lenient || content(ref) {
		return true
	}
	return inventory(ref) && h.watch.has(ref)
}

// mayRead and mayWrite ask about objects of the inventory; others have no permissions.
func (h *Handler) mayRead(user string, ref vc.Ref) bool {
	return !inventory(ref) || h.opts.MayRead(user, ref)
}

func (h *Handler) mayWrite(user string, ref vc.Ref) bool {
	return !inventory(ref) || h.opts.MayWrite(user, ref)
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

// routes lists the operations of tagging. In /rest both forms of those on a single category or tag are known: with its
// identifier in the path or in the body.
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
