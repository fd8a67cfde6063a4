package bundle

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// sandbox is one that is written about.
type sandbox struct {
	command.Sandbox
	client  *api.Client
	cluster *cluster // nil: it has none that answers
	silent  error    // why it is asked nothing more
	why     error    // why there is no cluster
	ours    bool     // the cluster was made for the sandbox
}

// meet learns the secrets of a sandbox: of its files, of itself, and of its cluster.
func (r *report) meet(ctx context.Context, s command.Sandbox) *sandbox {
	p := &sandbox{Sandbox: s, silent: errors.New("the sandbox does not run")}
	about := About{s.Name, s.State()}
	if s.Running {
		p.client, p.silent = api.NewClient(s.Socket), nil
	}
	r.index.Sandboxes = append(r.index.Sandboxes, about)
	if err := r.archive.mask.Follow(s.Dir); err != nil {
		r.lacks(p.path(""), "secrets of its files, which are masked by their shape alone", err)
	}
	secrets, err := ask(ctx, r, p, (*api.Client).Secrets)
	r.archive.mask.Add(secrets...)
	if err != nil && s.Running {
		r.lacks(p.path(""), "sessions of its vCenters, which are masked by their shape alone", err)
	}
	p.ours = r.ownCluster(ctx, p)
	if p.cluster, p.why = connect(filepath.Join(s.Dir, "kubeconfig"), r.Patience); p.why == nil {
		secrets, err := p.cluster.secrets(ctx, p.ours)
		for name, value := range secrets {
			r.archive.mask.Add(value)
			r.archive.mask.MaskConfig(name, []byte(value))
		}
		if err != nil {
			p.gaveUp(err)
			r.lacks(p.path("kubernetes"), "Secrets of the cluster, whose values are masked by their shape alone", err)
		}
	}
	return p
}

// ownCluster reports whether the sandbox's cluster was created for it. If that is unknown, it returns false.
func (r *report) ownCluster(ctx context.Context, p *sandbox) bool {
	status, err := ask(ctx, r, p, (*api.Client).Status)
	ground := status.Ground
	if err != nil {
		// One that was recorded says so in the recording's first line, which is not long.
		text, err := head(filepath.Join(p.Dir, "recording.jsonl"))
		var begin api.Recording
		if err != nil || json.Unmarshal(text, &begin) != nil {
			return false
		}
		ground = begin.Ground
	}
	return ground.Cluster == "embedded" || ground.Cluster == "kind"
}

func (p *sandbox) path(name string) string { return "sandboxes/" + p.Name + "/" + name }

// ask asks the sandbox. One that has not answered in time is not asked again: it hangs.
func ask[T any](ctx context.Context, r *report, p *sandbox, f func(*api.Client, context.Context) (T, error)) (T, error) {
	var none T
	if p.silent != nil {
		return none, p.silent
	}
	limited, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	v, err := f(p.client, limited)
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("the sandbox has not answered in %v", r.Patience)
		p.silent = err
	}
	return v, err
}

// answer puts in what the sandbox says.
func answer[T any](ctx context.Context, r *report, p *sandbox, name, what string, f func(*api.Client, context.Context) (T, error)) {
	v, err := ask(ctx, r, p, f)
	r.object(p.path(name), what, v, err)
}

// sandbox adds all that there is about one.
func (r *report) sandbox(ctx context.Context, p *sandbox) {
	r.Step(fmt.Sprintf("sandbox %q: asking it", p.Name))
	answer(ctx, r, p, "status.json", "status", (*api.Client).Status)
	answer(ctx, r, p, "topology/vcenters.json", "vCenters", (*api.Client).VCenters)
	answer(ctx, r, p, "topology/datacenters.json", "datacenters", (*api.Client).Datacenters)
	answer(ctx, r, p, "topology/hosts.json", "hosts", (*api.Client).Hosts)
	answer(ctx, r, p, "topology/vms.json", "VMs", (*api.Client).VMs)
	answer(ctx, r, p, "topology/zones.json", "failure domains", (*api.Client).Zones)
	answer(ctx, r, p, "topology/datastores.json", "datastores", (*api.Client).Datastores)
	answer(ctx, r, p, "nodes.json", "nodes and the VMs that they are", (*api.Client).Nodes)
	answer(ctx, r, p, "volumes.json", "volumes", (*api.Client).Volumes)
	answer(ctx, r, p, "faults.json", "faults, injected and healed", (*api.Client).Leases)
	answer(ctx, r, p, "calls.json", "calls at each vCenter's gate, by client and method", (*api.Client).Calls)
	r.Step(fmt.Sprintf("sandbox %q: its cluster", p.Name))
	r.kubernetes(ctx, p)
	r.Step(fmt.Sprintf("sandbox %q: its files", p.Name))
	for _, f := range []struct{ path, what string }{
		{"sandbox.json", "what it wrote down about itself"},
		{"children.journal", "the processes it started"},
		{"control-plane.json", "how the control plane was started"},
		{"ccm/vsphere.conf", "configuration of the cloud provider"},
		{"leases.jsonl", "faults, as they were written down"},
	} {
		r.end(p.path(f.path), f.what, filepath.Join(p.Dir, f.path), r.LogBytes, true)
	}
	r.logs(ctx, p)
	r.end(p.path("events.jsonl"), "events", filepath.Join(p.Dir, "events.jsonl"), 8*r.LogBytes, false)
	r.end(p.path("recording.jsonl"), "recording, for tui --replay", filepath.Join(p.Dir, "recording.jsonl"), 8*r.LogBytes, false)
}

// logs adds the logs, those of nodes, which may be many, last.
func (r *report) logs(ctx context.Context, p *sandbox) {
	files, err := r.Logs(p.Name)
	if err != nil {
		r.lacks(p.path("logs"), "logs", err)
		return
	}
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		if x, y := strings.Count(a, "/"), strings.Count(b, "/"); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		r.end(p.path("logs/"+name+".log"), "log of "+name, files[name], r.LogBytes, false)
	}
}

// end adds the last lines of a file, and notes a missing one unless it is optional.
func (r *report) end(path, what, file string, most int64, optional bool) {
	if r.bytes > r.AllBytes {
		r.lacks(path, what, fmt.Errorf("the report has %d bytes already", r.bytes))
		return
	}
	text, leftOut, err := tail(file, most)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
	case err != nil:
		r.lacks(path, what, err)
	default:
		r.add(path, what, text, leftOut)
	}
}

// head reads the first line of a file.
func head(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line, err
}

// tail reads the last lines of a file that is no more than a file: nothing that is waited for.
func tail(file string, most int64) (text []byte, leftOut int64, err error) {
	if i, err := os.Stat(file); err != nil {
		return nil, 0, err
	} else if !i.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if leftOut = max(0, i.Size()-most); leftOut > 0 {
		if _, err := f.Seek(leftOut, io.SeekStart); err != nil {
			return nil, 0, err
		}
	}
	if text, err = io.ReadAll(io.LimitReader(f, most)); err != nil || leftOut == 0 {
		return text, leftOut, err
	}
	_, rest, _ := strings.Cut(string(text), "\n") // a part of a line may be a part of a secret
	return []byte(rest), leftOut + int64(len(text)-len(rest)), nil
}

// cluster is asked for objects.
type cluster struct {
	client   rest.Interface
	patience time.Duration
}

// connect takes the way into a sandbox's cluster; nothing is asked yet.
func connect(kubeconfig string, patience time.Duration) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.UserAgent = patience, "vsphere-sandbox-doctor"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{client.CoreV1().RESTClient(), patience}, nil
}

// most is how many objects of a kind are asked for.
const most = "2000"

func (c *cluster) list(ctx context.Context, path string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	text, err := c.client.Get().AbsPath(path).Param("limit", most).DoRaw(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("the API server has not answered in %v", c.patience)
		}
		return nil, err
	}
	var list map[string]any
	return list, json.Unmarshal(text, &list)
}

// secrets returns what Secrets hold, to be masked: never to be shown. Of a cluster that was made for the sandbox these are
// all, of another those near a cloud provider.
func (c *cluster) secrets(ctx context.Context, ours bool) (map[string]string, error) {
	paths := []string{"/api/v1/secrets"}
	if !ours {
		paths = nil
		for _, namespace := range []string{"kube-system", "vmware-system-csi", "default"} {
			paths = append(paths, "/api/v1/namespaces/"+namespace+"/secrets")
		}
	}
	values := map[string]string{}
	for _, path := range paths {
		list, err := c.list(ctx, path)
		if err != nil {
			return values, err
		}
		for _, item := range items(list) {
			encoded, _ := item["data"].(map[string]any)
			data := map[string][]byte{}
			for key, v := range encoded {
				text, _ := v.(string)
				if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
					data[key] = plain
				}
			}
			for key, value := range secret.Of(data) {
				values[path+fmt.Sprint(len(values))+"/"+key] = value
			}
		}
	}
	return values, nil
}

func items(list map[string]any) []map[string]any {
	var all []map[string]any
	raw, _ := list["items"].([]any)
	for _, i := range raw {
		if m, ok := i.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// kubernetes adds the objects that matter to a cloud provider and a CSI driver. Secrets are not among them.
func (r *report) kubernetes(ctx context.Context, p *sandbox) {
	kinds := []struct {
		name, path string
		namespaced bool
	}{
		{"nodes", "/api/v1/nodes", false},
		{"pods", "/api/v1/pods", true},
		{"events", "/api/v1/events", true},
		{"persistentvolumes", "/api/v1/persistentvolumes", false},
		{"persistentvolumeclaims", "/api/v1/persistentvolumeclaims", true},
		{"volumeattachments", "/apis/storage.k8s.io/v1/volumeattachments", false},
		{"csinodes", "/apis/storage.k8s.io/v1/csinodes", false},
		{"storageclasses", "/apis/storage.k8s.io/v1/storageclasses", false},
		{"csidrivers", "/apis/storage.k8s.io/v1/csidrivers", false},
		{"leases", "/apis/coordination.k8s.io/v1/leases", true},
		{"configmaps", "/api/v1/namespaces/kube-system/configmaps", false},
	}
	for _, k := range kinds {
		path, what, from := p.path("kubernetes/"+k.name+".json"), k.name+" of the cluster", k.path
		if !p.ours && k.namespaced { // other workloads of the cluster do not belong in a bundle
			from = strings.Replace(from, "/v1/", "/v1/namespaces/kube-system/", 1)
			what = k.name + " of kube-system"
		}
		if p.cluster == nil {
			r.lacks(path, what, p.why)
			continue
		}
		list, err := p.cluster.list(ctx, from)
		if err != nil {
			p.gaveUp(err)
		}
		for _, item := range items(list) {
			trim(item)
		}
		r.object(path, what, list, err)
	}
}

// gaveUp asks the cluster nothing more after an error, for the next question would take as long to fail; one that it did
// answer, with a no, is about that question alone.
func (p *sandbox) gaveUp(err error) {
	var answered apierrors.APIStatus
	if !errors.As(err, &answered) {
		p.cluster, p.why = nil, err
	}
}

// trim takes out of an object what is of no use, and the values of environment variables, in which anything may be.
func trim(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			trim(x)
		}
	case map[string]any:
		delete(v, "managedFields")
		if a, ok := v["annotations"].(map[string]any); ok {
			delete(a, "kubectl.kubernetes.io/last-applied-configuration")
		}
		if env, ok := v["env"].([]any); ok {
			for _, x := range env {
				if e, ok := x.(map[string]any); ok && e["value"] != nil {
					e["value"] = mask.Text
				}
			}
		}
		for _, x := range v {
			trim(x)
		}
	}
}
