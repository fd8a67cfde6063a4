package installed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
)

// Installation is how a manifest installs a cloud controller manager.
type Installation struct {
	// From is where the manifest comes from, for messages.
	From string
	// Workload is what creates the pods: "daemonset kube-system/vsphere-cloud-controller-manager".
	Workload string
	// Namespace and ServiceAccount are the account as which the program acts.
	Namespace, ServiceAccount string
	// Pod is the specification of its pods, Container the one in there that is the cloud controller manager.
	Pod       corev1.PodSpec
	Container corev1.Container
	// ConfigFile is the path of its configuration in the container.
	ConfigFile string
	// Objects are the ServiceAccount, the roles and their bindings, in the order of the manifest.
	Objects []runtime.Object
}

// Read reads a manifest. An error says why it installs no cloud controller manager for vSphere.
func Read(from string, manifest []byte) (*Installation, error) {
	objects, w, err := deploy.ReadCCM(from, manifest)
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(w.Container.Command), w.Container.Args...)
	if cloud := flag(args, "--cloud-provider"); cloud != "" && cloud != "vsphere" {
		return nil, fmt.Errorf("%s: %s is the cloud controller manager of %s, not of vSphere (--cloud-provider=%s)", from, w.Title, cloud, cloud)
	}
	i := &Installation{
		From: from, Workload: w.Title, Namespace: namespaceOr(w.Namespace), ServiceAccount: w.Pod.ServiceAccountName,
		Pod: w.Pod, Container: w.Container, ConfigFile: w.ConfigFile,
	}
	if i.ServiceAccount == "" {
		i.ServiceAccount = "default"
	}
	if err := i.read(objects); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return i, nil
}

func namespaceOr(namespace string) string {
	if namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

// read collects the objects that rights are made of.
func (i *Installation) read(objects []*unstructured.Unstructured) error {
	account := false
	for _, o := range objects {
		var typed runtime.Object
		switch o.GetKind() {
		case "ServiceAccount":
			typed = &corev1.ServiceAccount{}
			account = account || o.GetName() == i.ServiceAccount && namespaceOr(o.GetNamespace()) == i.Namespace
		case "ClusterRole":
			typed = &rbacv1.ClusterRole{}
		case "ClusterRoleBinding":
			typed = &rbacv1.ClusterRoleBinding{}
		case "Role":
			typed = &rbacv1.Role{}
		case "RoleBinding":
			typed = &rbacv1.RoleBinding{}
		default:
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
			return fmt.Errorf("%s %s: %w", strings.ToLower(o.GetKind()), o.GetName(), err)
		}
		if m := typed.(metav1.Object); !strings.HasPrefix(o.GetKind(), "Cluster") {
			m.SetNamespace(namespaceOr(m.GetNamespace()))
		}
		i.Objects = append(i.Objects, typed)
	}
	if !account {
		return errors.New(i.Workload + " runs as ServiceAccount " + i.Namespace + "/" + i.ServiceAccount + ", which the manifest does not have")
	}
	return nil
}

// Args returns the arguments of the container as the kubelet makes them, without the name of the program: variables are replaced.
func (i *Installation) Args() []string {
	args := slices.Clone(i.Container.Args)
	if len(i.Container.Command) > 1 {
		args = append(slices.Clone(i.Container.Command[1:]), args...)
	}
	for n, arg := range args {
		for _, v := range i.Container.Env {
			arg = strings.ReplaceAll(arg, "$("+v.Name+")", v.Value)
		}
		args[n] = arg
	}
	return args
}

// Env returns the environment of the container, as KEY=VALUE. Variables from fields and objects of the cluster are left out.
func (i *Installation) Env() []string {
	var env []string
	for _, v := range i.Container.Env {
		if v.ValueFrom == nil {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}

// flag returns the value of an argument, the last one that counts, or "".
func flag(args []string, name string) (value string) {
	for n, arg := range args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			value = v
		} else if arg == name && n+1 < len(args) {
			value = args[n+1]
		}
	}
	return value
}
