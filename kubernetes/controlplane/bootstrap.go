package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"github.com/google/uuid"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// bootstrapHooks are the API server's post-start hooks that create what [seed] writes. Each waits for a second before it begins, then
// sends some 200 requests, one after another; the API server is not ready before they are done.
func bootstrapHooks() []string {
	return []string{rbacrest.PostStartHookName, schedulingrest.PostStartHookName}
}

// stored is an object of etcd.
type stored struct {
	key string
	runtime.Object
}

// bootstrapObjects returns the objects that [bootstrapHooks] create in an empty cluster, of the same tables, with keys below prefix.
func bootstrapObjects(prefix string) []stored {
	var all []stored
	add := func(o interface {
		runtime.Object
		metav1.Object
	}, resource string,
	) {
		all = append(all, stored{path.Join(prefix, resource, o.GetNamespace(), o.GetName()), o})
		o.SetUID(types.UID(uuid.NewString()))
		o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
		legacyscheme.Scheme.Default(o)
	}
	for _, r := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		add(r.DeepCopy(), "clusterroles")
	}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		add(b.DeepCopy(), "clusterrolebindings")
	}
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, r := range roles {
			add(r.DeepCopy(), "roles")
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range bindings {
			add(b.DeepCopy(), "rolebindings")
		}
	}
	for _, c := range schedulingdefaults.SystemPriorityClasses() {
		c = c.DeepCopy()
		c.Generation = 1
		add(c, "priorityclasses")
	}
	return all
}

// storageEncoder encodes [bootstrapObjects] as the API server does in etcd.
func storageEncoder() (runtime.Encoder, error) {
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return nil, fmt.Errorf("no serializer for %s", runtime.ContentTypeProtobuf)
	}
	return legacyscheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersions{rbacv1.SchemeGroupVersion, schedulingv1.SchemeGroupVersion}), nil
}

// seed writes [bootstrapObjects] into etcd, as an API server with these settings would store them. It returns false, and has written
// nothing, if etcd has objects of that server, or the user has them encrypted.
func seed(ctx context.Context, etcd *etcdServer, s settings) (bool, error) {
	if s["encryption-provider-config"] != "" {
		return false, nil
	}
	encoder, err := storageEncoder()
	if err != nil {
		return false, err
	}
	all := bootstrapObjects(path.Join("/", cmp.Or(s["etcd-prefix"], "registry")))
	txn := &pb.TxnRequest{Compare: []*pb.Compare{{
		Key: []byte(all[0].key), Target: pb.Compare_CREATE, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_CreateRevision{CreateRevision: 0},
	}}}
	for _, o := range all {
		value, err := runtime.Encode(encoder, o.Object)
		if err != nil {
			return false, fmt.Errorf("%s: %w", o.key, err)
		}
		txn.Success = append(txn.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(o.key), Value: value}}})
	}
	done, err := etcd.Server.Txn(ctx, txn)
	if err != nil {
		return false, err
	}
	return done.Succeeded, nil
}
