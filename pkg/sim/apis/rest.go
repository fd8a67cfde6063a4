package apis

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/vmware/govmomi/simulator"
	appliance "github.com/vmware/govmomi/vapi/appliance/simulator"
	tasks "github.com/vmware/govmomi/vapi/cis/tasks/simulator"
	cluster "github.com/vmware/govmomi/vapi/cluster/simulator"
	crypto "github.com/vmware/govmomi/vapi/crypto/simulator"
	settings "github.com/vmware/govmomi/vapi/esx/settings/simulator"
	namespace "github.com/vmware/govmomi/vapi/namespace/simulator"
	domains "github.com/vmware/govmomi/vapi/vcenter/consumptiondomains/simulator"
	vm "github.com/vmware/govmomi/vapi/vm/simulator"
)

// mux is the vAPI simulator of vcsim, which serves the functions that others register.
type mux interface {
	http.Handler
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// BackupPath is the path of backups of key providers, which REST serves, too.
const BackupPath = "/cryptomanager/kms/"

// REST serves the APIs below /rest and /api for the vCenter of a registry, after next, which must be vcsim's vAPI simulator. u is
// the vCenter's address with a login for calls of the APIs themselves.
func REST(r *simulator.Registry, u *url.URL, next http.Handler) http.Handler {
	m, ok := next.(mux)
	if !ok {
		return next
	}
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/rest/com/vmware/") {
			once.Do(func() { register(r, u, m) })
		}
		if strings.HasPrefix(req.URL.Path, BackupPath) { // vcsim's mux has everything below /rest or /api
			req = req.Clone(req.Context())
			req.URL.Path = "/rest" + req.URL.Path
		}
		next.ServeHTTP(w, req)
	})
}

// register registers the functions of all APIs.
func register(r *simulator.Registry, u *url.URL, m mux) {
	s := new(simulator.Service)
	for _, api := range []interface {
		Register(*simulator.Service, *simulator.Registry)
	}{
		appliance.New(u), tasks.New(u), cluster.New(r, u), crypto.New(r, u), settings.New(u), namespace.New(u), domains.New(u), vm.New(u),
	} {
		api.Register(s, r)
	}
	own := newSupervisor()
	for _, f := range functions(s) {
		handler := f.handler
		switch strings.TrimSuffix(f.pattern, "/") {
		case namespacesPath:
			handler = own.instances(f.handler)
		case classesPath:
			handler = own.vmClasses
		}
		m.HandleFunc(f.pattern, handler)
	}
}

// function is how vcsim keeps a registered function.
type function struct {
	pattern string
	handler func(http.ResponseWriter, *http.Request)
}

// functions returns the functions that were registered with a service. vcsim passes them on in NewServer only, which listens.
func functions(s *simulator.Service) []function {
	f := reflect.ValueOf(s).Elem().FieldByName("funcs")
	if !f.IsValid() || f.Type().Elem().Size() != unsafe.Sizeof(function{}) {
		return nil // of another version: TestFunctions fails
	}
	return *(*[]function)(f.Addr().UnsafePointer())
}

// Need is a privilege that a call requires.
type Need struct {
	Privilege string
	// VM is the VM on which it is required; empty: the root folder.
	VM string
}

// needs are the privileges of writes by the prefix of the path.
var needs = []struct{ prefix, privilege string }{
	{"/rest/vcenter/cluster/modules", "Host.Inventory.EditCluster"},
	{"/api/vcenter/cluster/modules", "Host.Inventory.EditCluster"},
	{"/api/appliance/", "Global.Settings"},
	{"/rest/appliance/", "Global.Settings"},
	{"/api/esx/settings/", "VcIntegrity.lifecycleSettings.Write"},
	{"/api/vcenter/crypto-manager/", "Cryptographer.ManageKeyServers"},
	{BackupPath, "Cryptographer.ManageKeyServers"},
	{"/api/vcenter/namespace", "Namespaces.Manage"},
	{"/api/vcenter/consumption-domains/", "Namespaces.Manage"},
	{"/api/vcenter/", "Global.Settings"},
}

// NeedOf returns what a call to one of the APIs of this package requires; false: it is of another.
func NeedOf(method, path string) (n Need, ok bool) {
	for _, base := range []string{"/rest/vcenter/vm/", "/api/vcenter/vm/"} {
		if after, found := strings.CutPrefix(path, base); found {
			n.VM, _, _ = strings.Cut(after, "/")
			n.Privilege = "VirtualMachine.Config.AdvancedConfig"
			if method == http.MethodGet {
				n.Privilege = "System.Read"
			}
			return n, true
		}
	}
	for _, one := range needs {
		if strings.HasPrefix(path, one.prefix) {
			n.Privilege = one.privilege
			// The download of a backup changes the provider.
			if (method == http.MethodGet || method == http.MethodHead) && one.prefix != BackupPath {
				n.Privilege = "System.Read"
			}
			return n, true
		}
	}
	return Need{}, false
}
