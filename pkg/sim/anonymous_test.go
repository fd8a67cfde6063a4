package sim_test

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// withoutSession are the calls that a vCenter answers to everybody.
var withoutSession = regexp.MustCompile(`<(RetrieveServiceContent|CurrentTime|Login|Logout) `)

// TestNothingAnonymous: calls without a session, to any door of an exposed vCenter, are refused and change nothing.
func TestNothingAnonymous(t *testing.T) {
	top, err := topology.Load("exposed", []byte(large(5)))
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.StartWith(t, sim.Options{Topology: top, Vcsim: sim.Vcsim{Exposed: true}})
	v := lab.VCenters()[0]
	c := lab.Client(v.Name())
	bodies := record(t, lab)
	views, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	type content struct {
		VMs     []mo.VirtualMachine
		Folders []mo.Folder
	}
	state := func() (now content) {
		t.Helper()
		err := errors.Join(
			views.Retrieve(t.Context(), []string{"VirtualMachine"}, []string{"name", "runtime.powerState", "config.annotation", "config.hardware.numCPU", "config.extraConfig"}, &now.VMs),
			views.Retrieve(t.Context(), []string{"Folder"}, []string{"name", "childEntity"}, &now.Folders))
		if err != nil || len(now.VMs) == 0 || len(now.Folders) == 0 {
			t.Fatalf("%d VMs, %d folders: %v", len(now.VMs), len(now.Folders), err)
		}
		return now
	}
	before := state()
	stranger := verifying(t, lab, v)
	send := func(verb, path, kind, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), verb, "https://"+v.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		res, err := stranger.Client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", verb, path, err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", verb, path, err)
		}
		return res.StatusCode, string(answer)
	}
	refused := 0
	for _, body := range bodies {
		status, answer := send(http.MethodPost, "/sdk", "text/xml", body)
		switch {
		case withoutSession.MatchString(body):
		case status != http.StatusInternalServerError || !strings.Contains(answer, "NotAuthenticated"):
			t.Errorf("without a session: %d\n%s\n%s", status, body, answer)
		default:
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("%d calls were refused of %d", refused, len(bodies))
	}
	for path, call := range map[string]string{
		"/pbm":                               `<PbmCreate xmlns="urn:pbm"><_this type="PbmProfileProfileManager">ProfileManager</_this></PbmCreate>`,
		"/vsanHealth":                        `<VsanClusterReconfig xmlns="urn:vsan"><_this type="VsanVcClusterConfigSystem">vsan-cluster-config-system</_this></VsanClusterReconfig>`,
		"/sso-adminserver/sdk/vsphere.local": `<CreateLocalPersonUser xmlns="urn:sso"><_this type="SsoAdminPrincipalManagementService">principalManagementService</_this><userName>eve</userName><password>Secret-123</password></CreateLocalPersonUser>`,
		"/eam/sdk":                           `<CreateAgency xmlns="urn:eam"><_this type="EsxAgentManager">EsxAgentManager</_this></CreateAgency>`,
		"/vslm/sdk":                          `<VslmCreateDisk_Task xmlns="urn:vslm"><_this type="VslmVStorageObjectManager">VStorageObjectManager</_this></VslmCreateDisk_Task>`,
		"/sts/STSService":                    `<RequestSecurityToken xmlns="http://docs.oasis-open.org/ws-sx/ws-trust/200512"/>`,
	} {
		if status, answer := send(http.MethodPost, path, "text/xml", envelope(call)); status < 400 {
			t.Errorf("%s without a session: %d\n%s", path, status, answer)
		}
	}
	for _, path := range []string{
		"/api/vcenter/vm", "/api/vcenter/cluster/modules", "/rest/vcenter/cluster/modules", "/api/vcenter/namespaces/instances", "/api/vcenter/crypto-manager/kms/providers",
		"/api/vcenter/consumption-domains/zones", "/api/appliance/access/ssh", "/rest/appliance/access/ssh", "/api/esx/settings/clusters/domain-c1/software/drafts",
		"/rest/com/vmware/cis/tagging/category", "/api/cis/tagging/category", "/rest/com/vmware/cis/tagging/tag", "/api/cis/tagging/tag",
		"/rest/com/vmware/content/local-library", "/api/content/local-library", "/folder/x.iso?dcPath=dc&dsName=ds",
	} {
		for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			status, answer := send(verb, path, "application/json", `{"name":"eve","create_spec":{"name":"eve"},"enabled":true}`)
			if status < 400 || status >= 500 && status != http.StatusNotImplemented {
				t.Errorf("%s %s without a session: %d\n%s", verb, path, status, answer)
			}
		}
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("changed without a session (-before +after):\n%s", diff)
	}
}
