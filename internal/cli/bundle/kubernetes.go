package bundle

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
)

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
