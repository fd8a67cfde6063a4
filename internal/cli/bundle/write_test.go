package bundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// What is planted, by where it comes from.
const (
	ofAccess  = `acc3ss/W%rd+"q' &<x>`
	ofConf    = "c0nf word; with spaces"
	ofSecret  = "s3cret-of-a-Secret"
	ofEnv     = "gov+c/p4ss"
	ofToken   = "opaque.token-0123456789"
	ofJWT     = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9mLWl0"
	ofKey     = "MHcCAQEEIJ5v0plantedPrivateKeyLineAwEHoUQDQgAE"
	ofClient  = "MIIBplantedClientCertificateLine0123456789AB"
	ofPodsEnv = "whatever was in a variable"
)

func planted() []string {
	return []string{ofAccess, ofConf, ofSecret, ofEnv, ofToken, ofJWT, ofKey, ofClient, ofPodsEnv}
}

// everywhere is a text with every secret in every writing.
func everywhere() string {
	var b strings.Builder
	for i, s := range planted() {
		if s == ofPodsEnv { // only the pod knows it
			continue
		}
		b64 := base64.StdEncoding.EncodeToString
		quoted, _ := json.Marshal(map[string]string{"message": "refused: " + s})
		twice, _ := json.Marshal(string(quoted))
		fmt.Fprintf(&b, "line %d says %s\n%s\n%s\nq=%q\nurl https://x/?p=%s&q=1 https://u:%s@h/%s\n", i, s, quoted, twice, s,
			url.QueryEscape(s), url.QueryEscape(s), url.PathEscape(s))
		for _, before := range []string{"", "u", "u:", "us:"} {
			fmt.Fprintf(&b, "b64 %s %s\nb64url %s\n", b64([]byte(before+s)), url.QueryEscape(b64([]byte(before+s+"!"))), base64.RawURLEncoding.EncodeToString([]byte(before+s)))
		}
		fmt.Fprintf(&b, "b64b64 %s\nargs --password=%s\n", b64([]byte("data: "+b64([]byte("users:\n- "+s)))), strings.ReplaceAll(s, " ", "_"))
	}
	return b.String()
}

// state makes a sandbox's directory with secrets all over it.
func state(t *testing.T, server string) (dir string, logs map[string]string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := everywhere()
	line, _ := json.Marshal(map[string]string{"message": all})
	key := "-----BEGIN EC PRIVATE KEY-----\n" + ofKey + "\n-----END EC PRIVATE KEY-----\n"
	certificate := "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIBsharedByAllCertificates\n", 4) + ofClient + "\n-----END CERTIFICATE-----\n"
	write("kubeconfig", `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+server+`"}}]
users: [{name: u, user: {token: "`+ofJWT+`"}}]
`)
	write("ccm/ccm.kubeconfig", "users:\n- name: u\n  user:\n    client-certificate-data: "+base64.StdEncoding.EncodeToString([]byte(certificate))+
		"\n    client-key-data: "+base64.StdEncoding.EncodeToString([]byte(key))+"\n")
	write("ccm/vsphere.conf", "global:\n  user: administrator\n  password: \""+ofConf+"\"\n")
	write("pki/sa.key", key)
	write("csi/csi-attacher.token", ofToken+"\n")
	write("sandbox.json", `{"name":"planted","extra":`+string(line)+`}`)
	write("children.journal", all)
	write("leases.jsonl", string(line)+"\n")
	write("control-plane.json", `{"args":["--password","`+ofConf+`"],"env":{"GOVC_PASSWORD":"`+ofEnv+`"}}`)
	write("events.jsonl", string(line)+"\n"+all)
	write("recording.jsonl", `{"ground":{"cluster":"embedded"}}`+"\n"+string(line)+"\n")
	logs = map[string]string{}
	for _, name := range []string{"ccm", "sandbox", "node/worker-1"} {
		write("logs/"+name+".log", strings.Repeat("I1122 nothing to see\n", 200)+all+key+certificate)
		logs[name] = filepath.Join(dir, "logs", name+".log")
	}
	return dir, logs
}

// cluster is an API server with secrets in its objects.
func apiserver(t *testing.T) string {
	t.Helper()
	b64 := base64.StdEncoding.EncodeToString
	object := func(kind string, extra map[string]any) map[string]any {
		o := map[string]any{"metadata": map[string]any{
			"name": "worker-1", "managedFields": []any{"x"},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": everywhere(), "note": everywhere()},
		}}
		maps.Copy(o, extra)
		return map[string]any{"kind": kind, "items": []any{o}}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := object("List", nil)
		switch {
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			answer = object("SecretList", map[string]any{"data": map[string]any{"vc.password": b64([]byte(ofSecret)), "vc.username": b64([]byte("administrator"))}})
		case strings.HasSuffix(r.URL.Path, "/pods"):
			answer = object("PodList", map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"args": []any{"--token=" + ofToken, "--password", ofConf}, "env": []any{map[string]any{"name": "X", "value": ofPodsEnv}},
			}}}})
		case strings.HasSuffix(r.URL.Path, "/leases"):
			w.WriteHeader(http.StatusForbidden)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "no: " + ofAccess, "code": 403}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// unpack returns the files of an archive, and its index.
func unpack(t *testing.T, file string) (map[string]string, Index) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Mode != 0o600 || files[h.Name] != "" {
			t.Errorf("%s: mode %o, %v", h.Name, h.Mode, err)
		}
		files[h.Name] = string(text)
	}
	var x Index
	if err := json.Unmarshal([]byte(files[IndexName]), &x); err != nil {
		t.Fatal(err)
	}
	return files, x
}

// writings are the ways in which a secret must not be there.
func writings(s string) []string {
	all := []string{s, url.QueryEscape(s), url.PathEscape(s), strings.ToLower(url.QueryEscape(s))}
	quoted, _ := json.Marshal(s)
	all = append(all, string(quoted[1:len(quoted)-1]))
	for _, before := range []string{"", "u", "us"} {
		text := base64.StdEncoding.EncodeToString([]byte(before + s))
		core := text[(len(before)*8+5)/6 : (len(before)+len(s))*8/6]
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core), url.QueryEscape(core))
	}
	return all
}

func requireClean(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		for _, s := range planted() {
			for _, w := range writings(s) {
				if i := strings.Index(text, w); i >= 0 {
					t.Errorf("%s has %q: …%s…", name, w, text[max(0, i-40):min(len(text), i+len(w)+40)])
				}
			}
		}
	}
}

func options(t *testing.T, s command.Sandbox, logs map[string]string) Options {
	return Options{
		File: filepath.Join(t.TempDir(), "bug.tar.gz"), Sandboxes: []command.Sandbox{s},
		Logs:     func(string) (map[string]string, error) { return logs, nil },
		Version:  func(context.Context) any { return map[string]string{"version": "v0", "note": everywhere()} },
		Findings: []string{everywhere()}, Secrets: []string{ofEnv}, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Patience: 2 * time.Second,
	}
}

// No secret of a running sandbox gets out, from any source and in any encoding.
func TestNothingGetsOut(t *testing.T) {
	w := clitest.ZonesUSEU()
	for i := range w.Access {
		w.Access[i].Password = ofAccess
	}
	w.VMs[0].Name, w.Status.Step = "planted "+ofConf, everywhere()
	w.Events = append(w.Events, api.EventLine{Event: event.Event{Seq: 999, Message: everywhere()}})
	server := clitest.Serve(t, w)
	dir, logs := state(t, apiserver(t))
	o := options(t, command.Sandbox{Name: "default", Dir: dir, Socket: server.Socket, Running: true}, logs)
	x, err := Write(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := os.Stat(o.File); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i, err)
	}
	files, index := unpack(t, o.File)
	requireClean(t, files)
	for _, name := range []string{
		"version.json", "doctor.json", "machine.json", "status.json", "calls.json", "events.jsonl", "recording.jsonl", "ccm/vsphere.conf",
		"kubernetes/nodes.json", "kubernetes/pods.json", "kubernetes/volumeattachments.json", "logs/ccm.log", "logs/node/worker-1.log", "topology/vms.json",
	} {
		if files[name] == "" && files["sandboxes/default/"+name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON any more", name)
		}
		if strings.Contains(name, "secrets") || strings.Contains(text, `"SecretList"`) || strings.Contains(text, "managedFields") {
			t.Errorf("%s should not be there, or not with that", name)
		}
	}
	if !strings.Contains(files["sandboxes/default/topology/vms.json"], "worker-1") || !strings.Contains(files["sandboxes/default/ccm/vsphere.conf"], "user: administrator") {
		t.Error("names are gone")
	}
	if n := len(index.Missing); n != 1 || !strings.HasSuffix(index.Missing[0].Path, "kubernetes/leases.json") || index.Masked == 0 || index.Masked > x.Masked || len(index.Files) != len(files)-1 {
		t.Errorf("index: %d masked, %d files of %d, missing %+v", index.Masked, len(index.Files), len(files), index.Missing)
	}
}

// A sandbox that has crashed is written about from its files; one that hangs is not waited for more than once.
func TestDeadAndHanging(t *testing.T) {
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for name, running := range map[string]bool{"dead": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			dir, logs := state(t, "http://127.0.0.1:1")
			logs["gone"] = filepath.Join(dir, "gone.log")
			o := options(t, command.Sandbox{Name: name, Dir: dir, Socket: mute.Addr().String(), Running: running}, logs)
			o.Patience, o.LogBytes = time.Second, 2000
			o.Secrets = append(o.Secrets, ofAccess, ofSecret) // which only the sandbox and its cluster know
			begin := time.Now()
			if _, err := Write(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took > 20*o.Patience {
				t.Errorf("took %v", took)
			}
			files, x := unpack(t, o.File)
			requireClean(t, files)
			var missing []string
			for _, m := range x.Missing {
				missing = append(missing, m.Path)
				if m.Why == "" {
					t.Errorf("%s: not why", m.Path)
				}
			}
			for _, want := range []string{"status.json", "calls.json", "kubernetes/pods.json", "logs/gone.log"} {
				if !slices.Contains(missing, "sandboxes/"+name+"/"+want) {
					t.Errorf("%s is not among what is missing: %v", want, missing)
				}
			}
			i := slices.IndexFunc(x.Files, func(e Entry) bool { return strings.HasSuffix(e.Path, "logs/ccm.log") })
			if i < 0 || x.Files[i].Bytes > 2000+1000 || x.Files[i].LeftOut == 0 {
				t.Errorf("the end of a log: %+v", x.Files)
			}
		})
	}
}

// What a sandbox has known is masked in what is left of it after a crash: a password that the user chose, the one in its
// place, and a password within the configuration that a Secret held.
func TestCrashedKnows(t *testing.T) {
	dir, logs := state(t, "http://127.0.0.1:1")
	s, err := secret.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"MyRealPassword1", "5ROTATEDNOW7", "[Global]\ninsecure = true\npassword = \"inConfig 9\"\n"}
	if err := errors.Join(s.Add(values...), s.Close()); err != nil {
		t.Fatal(err)
	}
	lease := `{"lease":"f1","kind":"vcenter.password-rotated","targets":[{"state":{"before":"MyRealPassword1","now":"5ROTATEDNOW7"}}],"more":"inConfig 9"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "leases.jsonl"), []byte(lease), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, command.Sandbox{Name: "x", Dir: dir}, logs)
	o.Secrets = append(o.Secrets, ofAccess, ofSecret)
	if _, err := Write(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	files, _ := unpack(t, o.File)
	requireClean(t, files)
	want := `{"lease":"f1","kind":"vcenter.password-rotated","targets":[{"state":{"before":"(masked)","now":"(masked)"}}],"more":"(masked)"}` + "\n"
	if got := files["sandboxes/x/leases.jsonl"]; got != want {
		t.Errorf("leases: %s", got)
	}
	key, err := os.ReadFile(filepath.Join(dir, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.Contains(name, "secrets.") || strings.Contains(text, strings.TrimSpace(string(key))) {
			t.Errorf("%s: is of the store", name)
		}
	}
}

// Nothing is overwritten, and nothing is left of what was not finished.
func TestFile(t *testing.T) {
	dir, logs := state(t, "http://127.0.0.1:1")
	o := options(t, command.Sandbox{Name: "x", Dir: dir}, logs)
	if err := os.WriteFile(o.File, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	o.File = filepath.Join(filepath.Dir(o.File), "other.tar.gz")
	ctx, cancel := context.WithCancel(t.Context())
	o.Step = func(string) { cancel() }
	if _, err := Write(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if all, _ := os.ReadDir(filepath.Dir(o.File)); len(all) != 1 {
		t.Errorf("left: %v", all)
	}
	o.File = filepath.Join(t.TempDir(), "none", "x.tar.gz")
	if _, err := Write(t.Context(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
