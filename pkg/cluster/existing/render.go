package existing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// installer is the managed-by label of objects that were installed from here, in place of "Helm".
const installer = "vsphere-sandbox-up"

// Release is a Helm release.
type Release struct{ Name, Namespace string }

// Render renders a chart's templates as Helm does, and returns the results by their paths in the chart. It supports the
// functions that the chart in this repository uses. Values are merged over values.yaml, as Helm does, without a check of
// the schema. A test compares the result with Helm's.
func Render(chart fs.FS, r Release, values map[string]any) (map[string]string, error) {
	about, err := document(chart, "Chart.yaml")
	if err != nil {
		return nil, err
	}
	defaults, err := document(chart, "values.yaml")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(chart, "templates/*")
	if err != nil {
		return nil, err
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	for _, name := range names {
		text, err := fs.ReadFile(chart, name)
		if err != nil {
			return nil, err
		}
		if _, err := all.New(name).Parse(string(text)); err != nil {
			return nil, fmt.Errorf("chart: %w", err)
		}
	}
	data := map[string]any{
		"Release": map[string]any{"Name": r.Name, "Namespace": r.Namespace, "Service": installer},
		// The fields that the templates use, with Helm's names.
		"Chart":  map[string]any{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Values": laid(defaults, values),
		"Files":  chartFiles{chart},
	}
	out := map[string]string{}
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue // only included by others
		}
		var b strings.Builder
		if err := all.ExecuteTemplate(&b, name, data); err != nil {
			return nil, fmt.Errorf("chart: %w", err)
		}
		out[name] = strings.ReplaceAll(b.String(), "<no value>", "")
	}
	return out, nil
}

// Objects returns the objects of [Render] in an order in which they can be created: accounts and permissions first,
// workloads last.
func Objects(chart fs.FS, r Release, values map[string]any) ([]*unstructured.Unstructured, error) {
	rendered, err := Render(chart, r, values)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(rendered[name]), 4096); ; {
			o := &unstructured.Unstructured{}
			if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("chart: %s: %w", name, err)
			}
			if len(o.Object) > 0 {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return turn(a.GetKind()) - turn(b.GetKind()) })
	return all, nil
}

// turn returns the position of a kind in the order of creation.
func turn(kind string) int {
	switch kind {
	case "Namespace":
		return 0
	case "ServiceAccount", "ConfigMap", "Secret", "Service":
		return 1
	case "ClusterRole", "Role":
		return 2
	case "ClusterRoleBinding", "RoleBinding":
		return 3
	}
	return 4
}

// document parses a file of the chart.
func document(chart fs.FS, name string) (map[string]any, error) {
	text, err := fs.ReadFile(chart, name)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	var o map[string]any
	if err := sigsyaml.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("chart: %s: %w", name, err)
	}
	return o, nil
}

// laid returns the values of under merged with those of over, as in Helm: tables are merged, others replaced, and null
// removes.
func laid(under, over map[string]any) map[string]any {
	all := maps.Clone(under)
	for key, value := range over {
		table, isTable := value.(map[string]any)
		below, wasTable := all[key].(map[string]any)
		switch {
		case value == nil:
			delete(all, key)
		case isTable && wasTable:
			all[key] = laid(below, table)
		default:
			all[key] = value
		}
	}
	return all
}

// chartFiles is .Files in templates.
type chartFiles struct{ chart fs.FS }

// Get returns the text of a file of the chart, or "", as Helm does.
func (f chartFiles) Get(name string) string {
	text, err := fs.ReadFile(f.chart, name)
	if err != nil {
		return ""
	}
	return string(text)
}

// functions are the functions of Helm that the chart uses, beyond text/template's own.
func functions(all *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := sigsyaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (map[string]any, error) {
			var v map[string]any
			err := sigsyaml.Unmarshal([]byte(text), &v)
			return v, err
		},
		"nindent": func(spaces int, text string) string {
			pad := "\n" + strings.Repeat(" ", spaces)
			return pad + strings.ReplaceAll(text, "\n", pad)
		},
		"quote":    func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"toString": func(v any) string { return fmt.Sprint(v) },
		"default": func(other, v any) any {
			if truth, ok := template.IsTrue(v); ok && truth {
				return v
			}
			return other
		},
		"dict": func(pairs ...any) (map[string]any, error) {
			d := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				d[fmt.Sprint(pairs[i])] = pairs[i+1]
			}
			return d, nil
		},
		"fail": func(why string) (string, error) { return "", errors.New(why) },
	}
}

// workload is a candidate for a cloud controller manager.
type workload struct {
	name string // "daemonset kube-system/cloud-controller-manager"
	pod  corev1.PodSpec
}

// isController reports whether the name of a Lease, an image or a program is a cloud controller manager's.
func isController(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "cloud-controller") || strings.Contains(name, "cloud-provider-") && !strings.HasPrefix(name, "-")
}

func (w workload) controls() bool {
	return slices.ContainsFunc(w.pod.Containers, func(c corev1.Container) bool {
		return isController(c.Image) || isController(c.Name) || len(c.Command) > 0 && isController(c.Command[0])
	})
}

func (c *Cluster) daemonSets(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		all = append(all, workload{"daemonset " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
	}
	return all, nil
}

func (c *Cluster) deployments(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if o.Spec.Replicas == nil || *o.Spec.Replicas > 0 {
			all = append(all, workload{"deployment " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
		}
	}
	return all, nil
}

// staticPods returns the static pods, such as kubeadm's control plane.
func (c *Cluster) staticPods(ctx context.Context) ([]workload, error) {
	list, err := c.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if _, static := o.Annotations[corev1.MirrorPodAnnotationKey]; static {
			all = append(all, workload{"pod " + o.Namespace + "/" + o.Name, o.Spec})
		}
	}
	return all, nil
}

// Labels of everything that belongs to a sandbox. Objects of the chart have a label "part of" this program; what the
// sandbox creates later in the cluster (package deploy, light nodes) has "managed by". Both have the sandbox's name: a
// cluster has one sandbox (see [Cluster.Guard]), but another may have been installed by the time of the removal.
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	program        = "vsphere-sandbox"

	selectAnyChart = partOfLabel + "=" + program
)

// NamespaceOf returns the namespace of a sandbox.
func NamespaceOf(name string) string { return program + "-" + name }

// selectChart selects the chart's objects of a sandbox.
func selectChart(name string) string { return selectAnyChart + "," + instanceLabel + "=" + name }

// selectManaged selects what a sandbox created itself.
func selectManaged(name string) string {
	return managedByLabel + "=" + program + "," + instanceLabel + "=" + name
}

// chartLabels returns the labels of objects that are installed with the chart but not in it.
func chartLabels(name string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": program, partOfLabel: program, instanceLabel: name, managedByLabel: installer,
	}
}
