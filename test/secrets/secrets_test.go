package secrets

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// The canaries: passwords that users chose, each with characters that some writing escapes.
const (
	ofUser    = `chosen "pass" & <word>'s/é+1`
	ofAdmin   = "MyRealPassword1"
	ofEnviron = `env+canary/"two"=&3`
	ofObject  = `value of a Secret\with\backslashes`
)

const topology = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: canaries}
spec:
  vcenters:
    - name: vc
      users:
        - {name: cpi@vsphere.local, password: %q}
      permissions:
        - {user: cpi@vsphere.local, role: ReadOnly}
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: esx-1}]}]
          vms: [{name: "worker-{n}", replicas: 1, role: worker}]
`

// rig is a sandbox under test, with all secrets of it that were ever seen.
type rig struct {
	*program.Home
	*program.Sandbox
	t    *testing.T
	all  *secrets
	kube kubernetes.Interface
	addr string // of the vCenter
	dir  string // of the instance
}

func newHome(t *testing.T) (*program.Home, *secrets) {
	t.Helper()
	h := program.NewHome(t, program.Options{Binary: binary, Patience: 5 * time.Minute, Env: []string{"GOVC_PASSWORD=" + ofEnviron}})
	t.Cleanup(func() { h.End() })
	s := newSecrets()
	for what, v := range map[string]string{"a user's password": ofUser, "the administrator's password": ofAdmin, "a variable": ofEnviron, "a Secret": ofObject} {
		s.add("canary ("+what+")", v)
	}
	return h, s
}

// boot brings a sandbox up, with volumes where the sidecars for them are.
func boot(t *testing.T, args ...string) *rig {
	t.Helper()
	h, all := newHome(t)
	h.Must(append([]string{"--name", "canaries", "up", "--detach", "--trace", filepath.Join(h.Tmp, "calls.trace"), h.File("topology.yaml", fmt.Sprintf(topology, ofUser))}, args...)...)
	r := &rig{Home: h, Sandbox: h.Attach("canaries"), t: t, all: all, dir: filepath.Join(h.State, "canaries")}
	config, err := clientcmd.BuildConfigFromFlags("", r.Status().Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if r.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	_, err = r.kube.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "app"}, StringData: map[string]string{"connection": ofObject},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collect adds the secrets that there are now.
func (r *rig) collect() {
	r.t.Helper()
	ctx := r.t.Context()
	access, err := r.Client.Access(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range access {
		r.all.add("password of "+a.User, a.Password)
		u, err := url.Parse(a.URL)
		if err != nil {
			r.t.Fatal(err)
		}
		r.addr = u.Host
		r.sessions(a.User, a.Password)
	}
	list, err := r.kube.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range list.Items {
		for key, v := range o.Data {
			if !strings.HasSuffix(strings.ToLower(key), "username") && !strings.HasSuffix(key, ".crt") {
				r.all.add("Secret "+o.Name+" "+key, string(v))
			}
		}
	}
	for name, text := range read(r.t, r.dir, func(rel string) bool { return rel == "etcd" }) {
		base := filepath.Base(name)
		switch {
		case base == "token", strings.HasSuffix(base, ".token"), strings.HasSuffix(base, ".key"):
			r.all.add(name, text)
		case base == "kubeconfig", strings.HasSuffix(base, ".kubeconfig"):
			var config struct {
				Users []struct {
					User struct {
						Token string `json:"token"`
						Key   []byte `json:"client-key-data"`
					} `json:"user"`
				} `json:"users"`
			}
			if err := yaml.Unmarshal([]byte(text), &config); err != nil {
				r.t.Fatal(err)
			}
			for _, u := range config.Users {
				r.all.add(name, u.User.Token)
				r.all.add(name, string(u.User.Key))
			}
		}
	}
}

// sessions logs in, over REST and over SOAP, and adds what the sessions are known by. A vCenter that refuses has none.
func (r *rig) sessions(user, password string) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	do := func(path, body string, header map[string]string) (string, []*http.Cookie) {
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "https://"+r.addr+path, strings.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		for k, v := range header {
			req.Header.Set(k, v)
		}
		a, err := client.Do(req)
		if err != nil {
			return "", nil // a fault may be about connections
		}
		defer a.Body.Close()
		text, _ := io.ReadAll(a.Body)
		if a.StatusCode >= 300 {
			return "", nil
		}
		return string(text), a.Cookies()
	}
	id, _ := do("/api/session", "", map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))})
	r.all.add("a REST session", strings.Trim(strings.TrimSpace(id), `"`))
	var escaped bytes.Buffer
	_ = json.NewEncoder(&escaped).Encode(password) // generated ones have letters and digits alone, which XML takes as they are
	_, cookies := do("/sdk", `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this>`+
		`<userName>`+user+`</userName><password>`+strings.Trim(strings.TrimSpace(escaped.String()), `"`)+`</password></Login></Body></Envelope>`,
		map[string]string{"Content-Type": "text/xml", "SOAPAction": "urn:vim25/8.0.0.0"})
	for _, c := range cookies {
		if c.Name == "vmware_soap_session" {
			r.all.add("a SOAP session", strings.Trim(c.Value, `"`))
		}
	}
}

// purpose reports whether a file of the instance directory is there to hold secrets.
func purpose(rel string) bool {
	base := filepath.Base(rel)
	switch filepath.Ext(base) {
	case ".kubeconfig", ".key", ".token", ".crt", ".sock":
		return true
	}
	return rel == "etcd" || base == "kubeconfig" || base == "token" || base == "pods" || rel == "secrets.key"
}

// processes are the command line and the environment of each process of the home.
func processes(h *program.Home) map[string]string {
	h.T.Helper()
	texts := map[string]string{}
	for pid, line := range h.Processes() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue // it has ended
		}
		texts[fmt.Sprintf("argv of %d", pid)] = line
		texts[fmt.Sprintf("environ of %d", pid)] = string(environ)
	}
	return texts
}

func (r *rig) configMaps() map[string]string {
	r.t.Helper()
	list, err := r.kube.CoreV1().ConfigMaps("").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	texts := map[string]string{}
	for _, o := range list.Items {
		text, err := json.Marshal(o)
		if err != nil {
			r.t.Fatal(err)
		}
		texts["ConfigMap "+o.Namespace+"/"+o.Name] = string(text)
	}
	return texts
}

// inPlace looks through what is there as long as the sandbox is.
func (r *rig) inPlace(when string) {
	r.t.Helper()
	r.collect()
	r.all.clean(r.t, when+": files", read(r.t, r.dir, purpose))
	r.all.clean(r.t, when+": processes", processes(r.Home))
	r.all.clean(r.t, when+": cluster", r.configMaps())
	trace, err := os.ReadFile(filepath.Join(r.Tmp, "calls.trace"))
	if err != nil || !bytes.Contains(trace, []byte(`"method":"Login"`)) {
		r.t.Fatalf("the trace has no login: %v", err)
	}
	r.all.clean(r.t, when+": calls", map[string]string{"calls.trace": string(trace), "dump": r.Run("calls", "dump", "--full")})
}

// bundle looks through a bundle that is made now.
func (r *rig) bundle(when string) map[string]string {
	r.t.Helper()
	files := bundle(r.Home, "canaries", strings.ReplaceAll(when, " ", "-"))
	r.all.clean(r.t, "bundle "+when, files)
	return files
}

func bundle(h *program.Home, name, file string) map[string]string {
	h.T.Helper()
	path := filepath.Join(h.Tmp, file+".tar.gz")
	h.Must("--name", name, "doctor", "--bundle", path)
	return unpack(h.T, path)
}

// plant puts secrets where what leaves picks them up: into an annotation of each node, in every writing, and into Events of
// the cloud provider's, which the sandbox's own log repeats.
func (r *rig) plant(values ...string) {
	r.t.Helper()
	ctx := r.t.Context()
	var all []string
	for _, v := range values {
		for _, how := range slices.Sorted(maps.Keys(writings(v))) {
			all = append(all, writings(v)[how])
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"test/planted": strings.Join(all, "\n ")}}})
	if err != nil {
		r.t.Fatal(err)
	}
	nodes, err := r.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		r.t.Fatalf("nodes: %v", err)
	}
	last := r.Last()
	for _, n := range nodes.Items {
		if _, err := r.kube.CoreV1().Nodes().Patch(ctx, n.Name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
	for i, v := range values {
		_, err := r.kube.CoreV1().Events("default").Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "planted-"},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: nodes.Items[0].Name},
			Reason:         "Planted", Type: "Warning", Message: fmt.Sprintf("%d: login with %s refused", i, v),
			Source: corev1.EventSource{Component: "vsphere-cloud-provider"}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(), Count: 1,
		}, metav1.CreateOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.Await("the planted Events are in the log", 30*time.Second, func() bool { return len(r.Since(last, "ccm.planted")) >= len(values) })
}

// kind is a fault of the catalog.
type kind struct {
	Name, Short, Long, Object string
	Params                    []struct {
		Name     string
		Required bool
	}
}

// credentialKinds are all faults of the catalog that have to do with credentials, by what they say of themselves.
func (r *rig) credentialKinds() []kind {
	r.t.Helper()
	var list struct{ Items []kind }
	if err := json.Unmarshal([]byte(r.Run("fault", "list", "-o", "json")), &list); err != nil {
		r.t.Fatal(err)
	}
	about := regexp.MustCompile(`(?i)password|secret|token|certificate|credential|account|session|login|kubeconfig|permission|rbac`)
	kinds := slices.DeleteFunc(list.Items, func(k kind) bool { return !about.MatchString(k.Name + " " + k.Short + " " + k.Long) })
	for _, must := range []string{"vcenter.password-rotated", "vcenter.account-locked", "vcenter.certificate-rotated", "ccm.token-revoked", "secret.deleted", "secret.malformed"} {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.Name == must }) {
			r.t.Errorf("%s is not among the faults about credentials", must)
		}
	}
	return kinds
}

// inject returns the arguments that inject a kind.
func (r *rig) inject(k kind) []string {
	r.t.Helper()
	args := []string{"fault", "inject", k.Name}
	switch k.Object {
	case "Sandbox":
	case "VCenter":
		args = append(args, "vc")
	case "Component":
		args = append(args, "csi-controller")
	case "Node", "VM":
		args = append(args, "worker-1")
	default:
		r.t.Fatalf("%s: what %s should it be injected on?", k.Name, k.Object)
	}
	values := map[string]string{"resource": "secrets"}
	for _, p := range k.Params {
		if p.Required && values[p.Name] == "" {
			r.t.Fatalf("%s: what value should its parameter %s have?", k.Name, p.Name)
		} else if p.Required {
			args = append(args, "--set", p.Name+"="+values[p.Name])
		}
	}
	return args
}

// No secret leaves a sandbox, with or after any fault of credentials, and after a crash.
func TestNothingLeaves(t *testing.T) {
	r := boot(t)
	r.inPlace("booted")
	for _, k := range r.credentialKinds() {
		begin := time.Now()
		args := r.inject(k)
		if k.Name == "vcenter.password-rotated" { // of the user, too, whose password is chosen
			r.Run(append(args, "--set", "account=cpi@vsphere.local")...)
			r.all.clean(t, k.Name+" of the user: files", read(t, r.dir, purpose))
			r.Run("fault", "heal", "--all")
			args = append(args, "--set", "tell=1ms")
		}
		if k.Name == "vcenter.restart" {
			args = append(args, "--set", "downtime=1s")
		}
		r.Run(args...)
		r.inPlace(k.Name)
		r.Run("fault", "heal", "--all")
		t.Logf("%s: %v", k.Name, time.Since(begin).Round(time.Millisecond))
	}
	r.bundle("after every fault")

	access, err := r.Client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Run("fault", "inject", "vcenter.password-rotated", "vc")
	r.collect()
	rotated, err := r.Client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := r.restSession(rotated[0].User, rotated[0].Password)
	r.plant(ofUser, ofEnviron, ofObject, access[0].Password, rotated[0].Password, id)
	files := r.bundle("in force")
	for _, name := range []string{"kubernetes/nodes.json", "events.jsonl", "recording.jsonl"} {
		if text := files["sandboxes/canaries/"+name]; !strings.Contains(text, "(masked)") {
			t.Errorf("%s: nothing is masked where something was planted", name)
		}
	}
	r.exported("in force")
	r.Run("fault", "heal", "--all")
	r.bundle("healed")
	r.exported("healed")

	r.Run("fault", "inject", "vcenter.password-rotated", "vc")
	r.collect()
	if rotated, err = r.Client.Access(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.plant(ofUser, ofObject, access[0].Password, rotated[0].Password)
	kill(t, r.Home, r.dir)
	files = r.bundle("of a crash")
	if !strings.Contains(files["index.json"], `"crashed"`) || !strings.Contains(files["sandboxes/canaries/leases.jsonl"], "vcenter.password-rotated") ||
		!strings.Contains(files["sandboxes/canaries/events.jsonl"], "(masked)") {
		t.Errorf("the bundle of a crash lacks what it is for: %v", slices.Sorted(maps.Keys(files)))
	}
	r.Run("down")
}

// restSession returns the id of a new session.
func (r *rig) restSession(user, password string) string {
	r.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "https://"+r.addr+"/api/session", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	a, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	var id string
	if err := json.NewDecoder(a.Body).Decode(&id); err != nil || a.StatusCode >= 300 {
		r.t.Fatalf("a session of REST: %s, %v", a.Status, err)
	}
	r.all.add("a REST session", id)
	return id
}

// exported looks through the recording.
func (r *rig) exported(when string) {
	r.t.Helper()
	path := filepath.Join(r.Tmp, "run.jsonl")
	r.Run("events", "export", path, "--force")
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.all.clean(r.t, "recording "+when, map[string]string{"run.jsonl": string(text)})
	if !bytes.Contains(text, []byte("(masked)")) {
		r.t.Error("nothing is masked in the recording, where something was planted")
	}
}

// kill ends the sandbox in that directory as kill -9 does, and returns when none of its processes is left.
func kill(t *testing.T, h *program.Home, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ PID int }
	if err := json.Unmarshal(text, &record); err != nil || record.PID < 2 {
		t.Fatalf("%s: %v", text, err)
	}
	if err := syscall.Kill(record.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(h.Processes()) > 0 {
		select {
		case <-ctx.Done():
			t.Fatalf("left after a minute: %v", h.Processes())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The case that was found: a password that the user chose is rotated, the sandbox is killed, and a bundle is made of it.
// Beside it, neither the process in the background nor a child has the password.
func TestChosenPassword(t *testing.T) {
	for name, given := range map[string][]string{"flag": {"--password", ofAdmin}, "variable": nil} {
		t.Run(name, func(t *testing.T) {
			h, all := newHome(t)
			h.Env = append(h.Env, "VSPHERE_SANDBOX_PASSWORD="+ofAdmin)
			h.Must(append([]string{"--name", "chosen", "vcenter", "up", "-f", "single", "--detach", "--username", "root"}, given...)...)
			all.clean(t, "processes", processes(h))
			h.Env = nil // who makes the bundle does not know them
			s := h.Attach("chosen")
			s.Run("fault", "inject", "vcenter.password-rotated", "vc", "--set", "account=root")
			access, err := s.Client.Access(t.Context())
			if err != nil || access[0].Password == ofAdmin {
				t.Fatalf("not rotated: %v", err)
			}
			all.add("the rotated password", access[0].Password)
			all.clean(t, "running", bundle(h, "chosen", "running"))
			dir := filepath.Join(h.State, "chosen")
			all.clean(t, "files", read(t, dir, purpose))
			kill(t, h, dir)
			files := bundle(h, "chosen", "crashed")
			if !strings.Contains(files["sandboxes/chosen/leases.jsonl"], "vcenter.password-rotated") {
				t.Errorf("the leases are not in the bundle: %v", slices.Sorted(maps.Keys(files)))
			}
			all.clean(t, "crashed", files)
			s.Run("down")
		})
	}
}

const scenario = `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: canaries, description: passwords stand in the messages of faults}
topology: topology.yaml
steps:
  - inject: vcenter.soap-fault
    on: {vcenter: vc}
    with: {client: ccm, message: %q}
    as: told

  - inject: vcenter.session-expired
    on: {vcenter: vc}
    with: {client: ccm}

  - wait: {event: {kind: ccm.vcenter-unreachable}}

  - heal: told

  - inject: vcenter.password-rotated
    on: {vcenter: vc}
    as: rotated

  - heal: rotated

  - expect: {node: all, ready: True, count: %d}
    within: %s
`

// Artifacts and reports of a scenario have no secret in them, though faults spread one through logs and events, and one
// expectation fails.
func TestScenario(t *testing.T) {
	h, all := newHome(t)
	h.File("topology.yaml", fmt.Sprintf(topology, ofUser))
	for name, count := range map[string]int{"passes": 1, "fails": 7} {
		format, within := "junit", "1m"
		if name == "fails" {
			format, within = "json", "1s"
		}
		file := h.File(name+".yaml", fmt.Sprintf(scenario, "no login with "+ofUser, count, within))
		results := filepath.Join(h.Tmp, name)
		r := h.Try("scenario", "run", file, "--artifacts", results, "-o", format)
		if (r.Code == 0) != (name == "passes") {
			t.Fatalf("%s: exit status %d\n%s", name, r.Code, r.Both())
		}
		all.clean(t, name+", "+format, map[string]string{"standard output": r.Out, "standard error": r.Err})
		files := read(t, results, func(string) bool { return false })
		all.clean(t, name+", artifacts", files)
		masked := 0
		for _, text := range files {
			masked += strings.Count(text, "(masked)")
		}
		if masked == 0 || files["report.html"] == "" {
			t.Errorf("nothing is masked where a password was spread: %v", slices.Sorted(maps.Keys(files)))
		}
	}
}
