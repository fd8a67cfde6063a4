package sim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// asked is the answer to a REST call.
type asked struct {
	status int
	body   string
}

// ask makes a REST call over the transport of a client, and with a session unless it is empty.
func ask(t *testing.T, c *govmomi.Client, session, method, path, body string) asked {
	t.Helper()
	u := c.URL()
	req, err := http.NewRequestWithContext(t.Context(), method, u.Scheme+"://"+u.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if session != "" {
		req.Header.Set("vmware-api-session-id", session)
	}
	res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return asked{res.StatusCode, strings.TrimSpace(string(text))}
}

// TestVMsOfREST: fence_vmware_rest lists VMs and switches them on and off; the subscribers of a library delete one.
func TestVMsOfREST(t *testing.T) {
	lab := sim.Start(t, guarded)
	boss, cpi := lab.Client("vc"), lab.ClientAs("vc", "cpi@vsphere.local", "secret of cpi")
	session := func(c *govmomi.Client, user *url.Userinfo) string {
		r := rest.NewClient(c.Client)
		if err := r.Login(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		return r.SessionID()
	}
	v, _ := lab.VCenter("vc")
	admin, reader := session(boss, v.Console()), session(cpi, url.UserPassword("cpi@vsphere.local", "secret of cpi"))
	west, east := vm(t, boss, "/west/vm/west-1").Reference(), vm(t, boss, "/east/vm/east-1").Reference()

	names := func(session, path string) []string {
		t.Helper()
		got := ask(t, boss, session, http.MethodGet, path, "")
		list := []byte(got.body)
		if strings.HasPrefix(path, "/rest") {
			var wrapped struct{ Value json.RawMessage }
			if err := json.Unmarshal(list, &wrapped); err != nil {
				t.Fatalf("%s: %+v, %v", path, got, err)
			}
			list = wrapped.Value
		}
		var vms []struct {
			Name   string
			Power  string `json:"power_state"`
			CPUs   int32  `json:"cpu_count"`
			Memory int32  `json:"memory_size_MiB"`
		}
		if err := json.Unmarshal(list, &vms); err != nil {
			t.Fatalf("%s: %+v, %v", path, got, err)
		}
		all := []string{}
		for _, vm := range vms {
			if vm.CPUs == 0 || vm.Memory == 0 {
				t.Errorf("%s: %+v", path, vm)
			}
			all = append(all, vm.Name+" "+vm.Power)
		}
		slices.Sort(all)
		return all
	}
	everything := []string{
		"east-1 POWERED_ON", "east-2 POWERED_ON", "east-3 POWERED_ON", "west-1 POWERED_ON", "west-2 POWERED_ON", "west-3 POWERED_ON",
	}
	for _, tc := range []struct {
		session, path string
		want          []string
	}{
		{admin, "/rest/vcenter/vm", everything},
		{admin, "/api/vcenter/vm", everything},
		{reader, "/rest/vcenter/vm", everything[3:]},
		{admin, "/rest/vcenter/vm?filter.names=west-1&filter.names=east-2", []string{everything[1], everything[3]}},
		{admin, "/rest/vcenter/vm?filter.names.1=west-1&filter.power_states=POWERED_ON", everything[3:4]},
		{admin, "/api/vcenter/vm?vms=" + west.Value, everything[3:4]},
		{admin, "/api/vcenter/vm?datacenters=" + ref(t, boss, "/east").Value, everything[:3]},
		{admin, "/api/vcenter/vm?clusters=" + ref(t, boss, "/west/host/c1").Value + "&power_states=POWERED_OFF", []string{}},
	} {
		if got := names(tc.session, tc.path); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.path, got, tc.want)
		}
	}

	power := "/rest/vcenter/vm/" + west.Value + "/power"
	for _, tc := range []struct {
		name, session, method, path string
		status                      int
		want                        string
	}{
		{"its state", reader, http.MethodGet, power, 200, `{"value":{"state":"POWERED_ON"}}`},
		{"on again", admin, http.MethodPost, power + "/start", 400, "Virtual machine is already powered on."},
		{"may not", reader, http.MethodPost, power + "/stop", 403, "com.vmware.vapi.std.errors.unauthorized"},
		{"sees not", reader, http.MethodPost, "/rest/vcenter/vm/" + east.Value + "/power/stop", 404, "com.vmware.api.vcenter.vm.not_found"},
		{"stop", admin, http.MethodPost, power + "/stop", 200, ""},
		{"deleted while on", admin, http.MethodDelete, "/rest/vcenter/vm/" + east.Value, 400, "not_allowed_in_current_state"},
		{"suspended while off", admin, http.MethodPost, power + "/suspend", 400, "not_allowed_in_current_state"},
		{"start", admin, http.MethodPost, "/api/vcenter/vm/" + west.Value + "/power?action=start", 204, ""},
		{"stop again", admin, http.MethodPost, power + "/stop", 200, ""},
		{"delete", admin, http.MethodDelete, "/rest/vcenter/vm/" + west.Value, 200, ""},
		{"deleted", admin, http.MethodGet, power, 404, "com.vmware.api.vcenter.vm.not_found"},
		{"no such filter", admin, http.MethodGet, "/rest/vcenter/vm?filter.nmaes=x", 400, "filter.nmaes"},
		{"no such operation", admin, http.MethodPost, "/rest/vcenter/vm/" + east.Value + "/power/explode", 404, "com.vmware.vapi.std.errors.not_found"},
		{"no session", "", http.MethodGet, "/rest/vcenter/vm", 401, "unauthenticated"},
	} {
		if got := ask(t, boss, tc.session, tc.method, tc.path, ""); got.status != tc.status || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %d %s, want %d with %q", tc.name, got.status, got.body, tc.status, tc.want)
		}
	}
	var manager mo.TaskManager
	get(t, boss, *boss.ServiceContent.TaskManager, &manager, "recentTask")
	by := map[string]string{}
	for _, task := range manager.RecentTask {
		var info mo.Task
		get(t, boss, task, &info, "info")
		if reason, ok := info.Info.Reason.(*types.TaskReasonUser); ok {
			by[info.Info.DescriptionId] = reason.UserName
		}
	}
	if !strings.Contains(by["VirtualMachine.powerOff"], "\\") {
		t.Errorf("users of tasks: %q", by)
	}
}

// TestJSONRPC: the Automation SDKs log in, and out, by JSON-RPC.
func TestJSONRPC(t *testing.T) {
	lab := sim.Start(t, guarded)
	c := lab.Client("vc")
	call := func(operation, security string) asked {
		t.Helper()
		return ask(t, c, "", http.MethodPost, "/api", fmt.Sprintf(`{"jsonrpc":"2.0","method":"invoke","id":"7",
			"params":{"serviceId":"com.vmware.cis.session","operationId":%q,"ctx":{"appCtx":{"opId":"x"},"securityCtx":%s}}}`, operation, security))
	}
	password := func(word string) string {
		return fmt.Sprintf(`{"schemeId":"com.vmware.vapi.std.security.user_pass","userName":"cpi@vsphere.local","password":%q}`, word)
	}
	var got struct {
		ID     string
		Result struct{ Output struct{ Secret string } }
	}
	login := call("create", password("secret of cpi"))
	if err := json.Unmarshal([]byte(login.body), &got); err != nil || login.status != http.StatusOK || got.ID != "7" || got.Result.Output.Secret == "" {
		t.Fatalf("%+v: %+v, %v", login, got, err)
	}
	id := got.Result.Output.Secret
	if got := ask(t, c, id, http.MethodGet, "/api/session", ""); got.status != http.StatusOK || !strings.Contains(got.body, "cpi@vsphere.local") {
		t.Errorf("the session over /api: %+v", got)
	}
	session := fmt.Sprintf(`{"schemeId":"com.vmware.vapi.std.security.session_id","sessionId":%q}`, id)
	for _, tc := range []struct{ name, operation, security, want string }{
		{"wrong password", "create", password("wrong"), `"com.vmware.vapi.std.errors.unauthenticated"`},
		{"no password", "create", `{}`, `"com.vmware.vapi.std.errors.unauthenticated"`},
		{"get", "get", session, `{"STRUCTURE":{"com.vmware.cis.session.info":{`},
		{"unknown", "explode", session, `"com.vmware.vapi.std.errors.operation_not_found"`},
		{"delete", "delete", session, `{"jsonrpc":"2.0","id":"7","result":{"output":null}}`},
		{"get after that", "get", session, `"com.vmware.vapi.std.errors.unauthenticated"`},
	} {
		if got := call(tc.operation, tc.security); got.status != http.StatusOK || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %+v, want %s", tc.name, got, tc.want)
		}
	}
	for body, want := range map[string]string{`{`: "-32700", `[]`: "-32600", `{"method":"x","id":1}`: `"id":1,"error":{"code":-32601`} {
		if got := ask(t, c, "", http.MethodPost, "/api", body); !strings.Contains(got.body, want) {
			t.Errorf("%s: %+v, want %s", body, got, want)
		}
	}
}
