package front_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// envelope is a call of SOAP.
func envelope(call string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` + call + `</Body></Envelope>`
}

const readingEnvelope = `<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>`

// logins are the sessions of a client.
type logins struct{ cookie, rest string }

// loginsAt logs in at an address.
func (r *rig) loginsAt(t *testing.T, address string) logins {
	t.Helper()
	password, _ := r.user.Password()
	login := envelope(`<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this><userName>` + r.user.Username() + `</userName><password>` +
		strings.ReplaceAll(password, "&", "&amp;") + `</password></Login>`)
	res, _ := r.raw(t, address, logins{}, "POST", "/sdk", "text/xml", login)
	l := logins{}
	for _, c := range res.Cookies() {
		if c.Name == "vmware_soap_session" {
			l.cookie = c.Name + "=" + c.Value
		}
	}
	at, err := soap.ParseURL("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	// A separate session: the requests may end it.
	rc := rest.NewClient(&vim25.Client{Client: soap.NewClient(at, true)})
	if err := rc.Login(t.Context(), r.user); err != nil || l.cookie == "" {
		t.Fatalf("%d, %+v, %v", res.StatusCode, l, err)
	}
	l.rest = rc.SessionID()
	return l
}

// raw sends one request as it is said.
func (r *rig) raw(t *testing.T, address string, l logins, method, target, contentType, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "stranger")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if l != (logins{}) {
		req.Header.Set("Cookie", l.cookie)
		req.Header.Set("Vmware-Api-Session-Id", l.rest)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// files are those of the datastores, with their sizes.
func (r *rig) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := r.direct.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		stores, err := find.NewFinder(vim).DatastoreList(ctx, "/...")
		if err != nil {
			return err
		}
		for _, store := range stores {
			browser, err := store.Browser(ctx)
			if err != nil {
				return err
			}
			task, err := browser.SearchDatastoreSubFolders(ctx, store.Path(""), &types.HostDatastoreBrowserSearchSpec{
				MatchPattern: []string{"*"}, Details: &types.FileQueryFlags{FileSize: true, FileType: true},
			})
			if err != nil {
				return err
			}
			info, err := task.WaitForResult(ctx)
			if err != nil {
				return err
			}
			result, ok := info.Result.(types.ArrayOfHostDatastoreBrowserSearchResults)
			if !ok {
				return fmt.Errorf("a search of files gives %T", info.Result)
			}
			for _, dir := range result.HostDatastoreBrowserSearchResults {
				_, in, _ := strings.Cut(dir.FolderPath, "]")
				for _, file := range dir.File {
					name := path.Join("/", strings.TrimSpace(in), file.GetFileInfo().Path)
					found[name+" of "+store.Name()] = fmt.Sprintf("%T of %d", file, file.GetFileInfo().FileSize)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// categories are the names of those that there are.
func (r *rig) categories(t *testing.T) (names []string) {
	t.Helper()
	err := r.direct.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		all, err := tags.NewManager(rc).GetCategories(ctx)
		for _, c := range all {
			names = append(names, c.Name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// holes are requests that have written to a vCenter behind an earlier guard: F1 of the findings.
func holes() []struct{ target, contentType, body, want string } {
	category := func(name string) string {
		return fmt.Sprintf(`{"create_spec":{"name":%q,"cardinality":"SINGLE","associable_types":[]}}`, name)
	}
	file := func(n int) string { return fmt.Sprintf("/folder/f%d.xml?dcPath=DC0&dsName=LocalDS_0", n) }
	return []struct{ target, contentType, body, want string }{
		{file(1), "text/xml", envelope(readingEnvelope), "/f1.xml of LocalDS_0"},
		{file(2), "application/soap+xml", envelope(readingEnvelope), "/f2.xml of LocalDS_0"},
		{file(3), "application/octet-stream", envelope(readingEnvelope), "/f3.xml of LocalDS_0"},
		{"/rest/com/vmware/cis/tagging/category?action=list", "application/json", category("c1"), "c1"},
		{"/rest/com/vmware/cis/tagging/category?action=get-x", "application/json", category("c2"), "c2"},
		{"/rest/com/vmware/cis/tagging/category?~action=list", "application/json", category("c3"), "c3"},
		{"/api/cis/tagging/category?~action=list", "application/json", strings.TrimSuffix(strings.TrimPrefix(category("c4"), `{"create_spec":`), "}"), "c4"},
	}
}

// has says whether a file or a category is there.
func (r *rig) has(t *testing.T, what string) bool {
	t.Helper()
	if _, ok := r.files(t)[what]; ok {
		return true
	}
	return strings.Contains(" "+strings.Join(r.categories(t), " ")+" ", " "+what+" ")
}

// TestHoles sends them, read-only and outside of what may be written to: nothing is made, the answer says why, and the log has
// a line. Past the front they do what they did.
func TestHoles(t *testing.T) {
	for name, s := range map[string]scope.Scope{"read-only": {}, "elsewhere": {AllowWrites: true, Folders: []string{"/DC0/vm/k8s"}}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, s)
			var log bytes.Buffer
			g := &guard.Guard{Scope: r.scope, Journal: r.journal, Connection: r.direct}
			r.front = r.guarded(t, r.direct.VCenter, g, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
			l := r.loginsAt(t, r.front.Addr())
			for _, h := range holes() {
				res, text := r.raw(t, r.front.Addr(), l, "POST", h.target, h.contentType, h.body)
				if res.StatusCode != http.StatusForbidden || !strings.Contains(text, "refused") || !strings.Contains(text, "try: ") {
					t.Errorf("%s: status %d, %s", h.target, res.StatusCode, text)
				}
				if r.has(t, h.want) {
					t.Errorf("%s: %s was made", h.target, h.want)
				}
			}
			if n := strings.Count(log.String(), "msg=refused"); n != len(holes()) || !strings.Contains(log.String(), "path=/folder/f1.xml") || !strings.Contains(log.String(), "reason=") {
				t.Errorf("%d lines: %s", n, log.String())
			}
		})
	}
	t.Run("past the front", func(t *testing.T) {
		r := start(t, scope.Scope{})
		address := r.direct.VCenter.Address()
		l := r.loginsAt(t, address)
		made := 0
		for _, h := range holes() {
			r.raw(t, address, l, "POST", h.target, h.contentType, h.body)
			if r.has(t, h.want) {
				made++
			}
		}
		if made < 4 {
			t.Errorf("%d of %d requests write: the test shows nothing", made, len(holes()))
		}
	})
}

// TestAnswers shows what clients get: a fault where SOAP was understood, JSON, text, each with the reason and what to try.
func TestAnswers(t *testing.T) {
	r := start(t, scope.Scope{})
	c, _ := r.client(t, "writer")
	vm := vms(t, c.Client)[0].Reference()
	destroy := `<Destroy_Task xmlns="urn:vim25"><_this type="VirtualMachine">` + vm.Value + `</_this></Destroy_Task>`
	l := r.loginsAt(t, r.front.Addr())
	for _, tc := range []struct {
		method, target, contentType, body string
		status                            int
		kind                              string
		says                              []string
	}{
		{"POST", "/sdk", "text/xml", envelope(destroy), 500, "text/xml", []string{"NoPermissionFault", vm.Value, "Destroy_Task", "read-only", "--allow-writes"}},
		{"POST", "/sdk", "text/xml", envelope(destroy + destroy), 403, "text/xml", []string{"<faultstring>POST /sdk", "2 methods", "try: "}},
		{"POST", "/sdk", "application/json", "{}", 403, "text/xml", []string{"<faultstring>POST /sdk", "content type", "try: "}},
		{"DELETE", "/rest/com/vmware/cis/tagging/tag/id:x", "", "", 403, "application/json", []string{"default_message", "DELETE /rest", "try: "}},
		{"PUT", "/folder/x?dcPath=DC0&dsName=LocalDS_0", "", strings.Repeat("x", 16<<20), 403, "text/plain", []string{"PUT /folder/x", "try: "}},
		{"GET", "/mob", "", "", 403, "text/plain", []string{"GET /mob", "does not know the path"}},
	} {
		res, text := r.raw(t, r.front.Addr(), l, tc.method, tc.target, tc.contentType, tc.body)
		if res.StatusCode != tc.status || !strings.HasPrefix(res.Header.Get("Content-Type"), tc.kind) {
			t.Errorf("%s %s: status %d, %s", tc.method, tc.target, res.StatusCode, res.Header)
		}
		for _, says := range tc.says {
			if !strings.Contains(text, says) {
				t.Errorf("%s %s: does not say %q: %s", tc.method, tc.target, says, text)
			}
		}
	}
	// govc shows the reason to its user.
	if _, err := object.NewVirtualMachine(c.Client, vm).Destroy(t.Context()); err == nil || !strings.Contains(err.Error(), "--allow-writes") {
		t.Errorf("destroyed: %v", err)
	}
}
