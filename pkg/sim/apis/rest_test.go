package apis

import (
	"net/http"
	"testing"

	"github.com/vmware/govmomi/simulator"
)

// TestFunctions: vcsim keeps registered functions as this package reads them.
func TestFunctions(t *testing.T) {
	s := new(simulator.Service)
	called := ""
	for _, pattern := range []string{"/a", "/b/"} {
		s.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) { called += pattern })
	}
	all := functions(s)
	if len(all) != 2 || all[0].pattern != "/a" || all[1].pattern != "/b/" {
		t.Fatalf("%+v", all)
	}
	all[1].handler(nil, nil)
	if called != "/b/" {
		t.Errorf("called %s", called)
	}
}

func TestNeedOf(t *testing.T) {
	for call, want := range map[string]Need{
		"GET /rest/vcenter/cluster/modules":                       {Privilege: "System.Read"},
		"POST /rest/vcenter/cluster/modules":                      {Privilege: "Host.Inventory.EditCluster"},
		"PUT /api/appliance/access/ssh":                           {Privilege: "Global.Settings"},
		"DELETE /api/vcenter/vm/vm-7/data-sets/x":                 {Privilege: "VirtualMachine.Config.AdvancedConfig", VM: "vm-7"},
		"GET /rest/vcenter/vm/vm-7/data-sets":                     {Privilege: "System.Read", VM: "vm-7"},
		"GET /cryptomanager/kms/native":                           {Privilege: "Cryptographer.ManageKeyServers"},
		"POST /api/vcenter/anything/new":                          {Privilege: "Global.Settings"},
		"POST /api/vcenter/namespaces/instances/n/registervm":     {Privilege: "Namespaces.Manage"},
		"POST /api/vcenter/crypto-manager/kms/providers":          {Privilege: "Cryptographer.ManageKeyServers"},
		"PATCH /api/esx/settings/clusters/domain-c1/software/x":   {Privilege: "VcIntegrity.lifecycleSettings.Write"},
		"POST /api/vcenter/consumption-domains/zones/cluster/z/x": {Privilege: "Namespaces.Manage"},
	} {
		method, path := "", ""
		for i, c := range call {
			if c == ' ' {
				method, path = call[:i], call[i+1:]
			}
		}
		if got, ok := NeedOf(method, path); !ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", call, got, ok, want)
		}
	}
	for _, path := range []string{"/rest/com/vmware/cis/tagging/tag", "/api/session", "/rest/com/vmware/content/library"} {
		if n, ok := NeedOf(http.MethodPost, path); ok {
			t.Errorf("%s: %+v", path, n)
		}
	}
}
