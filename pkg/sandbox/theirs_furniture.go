package sandbox

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// ccmNamespace is where the cloud controller manager's account, configuration, credentials and Lease are.
func (s *Sandbox) ccmNamespace() string {
	if s.opts.Cluster.Theirs != nil { // where kube-system is others'
		return existing.NamespaceOf(s.opts.Name)
	}
	return cloudNamespace
}

// ccmRoles is what its roles are called; "" for their usual names.
func (s *Sandbox) ccmRoles() string {
	if s.opts.Cluster.Theirs != nil {
		return existing.NamespaceOf(s.opts.Name)
	}
	return ""
}

// ccmLabels are those of all that is made for it, where others have to be told from them; nil elsewhere.
func (s *Sandbox) ccmLabels() map[string]string {
	if s.opts.Cluster.Theirs == nil {
		return nil
	}
	return map[string]string{deploy.ManagedByLabel: deploy.ManagedBy, deploy.InstanceLabel: s.opts.Name}
}

// labeled puts these labels on objects.
func (s *Sandbox) labeled(objects []runtime.Object) []runtime.Object {
	if labels := s.ccmLabels(); labels != nil {
		for _, o := range objects {
			o.(metav1.Object).SetLabels(labels)
		}
	}
	return objects
}

// objects are all that will be made in the cluster, without what is in them: for the question whether one may.
func (t *theirCluster) objects() ([]*unstructured.Unstructured, error) {
	s := t.s
	c := s.opts.CCM.withDefaults()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.ccmNamespace(), Name: name}
	}
	made := append(s.ccmRights(c, c.Replicas > 1),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ccmNamespace()}},
		&corev1.ConfigMap{ObjectMeta: meta(cloudConfigMap)}, &corev1.Secret{ObjectMeta: meta(cloudSecret)},
	)
	var list []*unstructured.Unstructured
	for _, o := range made {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kinds[0])
		list = append(list, u)
	}
	return list, nil
}

// extra are rights that no object tells of: to have tokens made, to follow what was made, to take roles back.
func (t *theirCluster) extra() []authorizationv1.ResourceAttributes {
	in := t.s.ccmNamespace()
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: in},
		{Verb: "watch", Resource: "configmaps", Namespace: in},
		{Verb: "watch", Resource: "secrets", Namespace: in},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "roles"},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "rolebindings"},
	}
}
