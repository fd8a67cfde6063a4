package loadbalancer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// AppName is the name of the program in descriptions of objects, and their owner unless the configuration has another one.
const AppName = "vsphere-cloud-controller-manager"

// Scopes of tags.
const (
	scopeOwner   = "owner"
	scopeCluster = "cluster"
	scopeService = "service"
	scopePort    = "port"
	scopePool    = "ippoolid"
	scopeClass   = "lbclass"
)

// identifier returns the identifier of an object: a UUID of version 8, of which the first 60 bits are the cluster's fingerprint
// and the others follow from parts.
func identifier(clusterUID string, parts ...string) string {
	own := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	id := append(fingerprint(clusterUID), own[:8]...)
	id[8] = id[8]&0x3f | 0x80
	h := hex.EncodeToString(id)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// fingerprint returns the first eight bytes of a cluster's identifiers.
func fingerprint(clusterUID string) []byte {
	sum := sha256.Sum256([]byte("cluster\x00" + clusterUID))
	sum[6] = sum[6]&0x0f | 0x80
	return sum[:8:8]
}

// origin is who made an object, by its identifier.
type origin int

const (
	ours   origin = iota // this cluster
	theirs               // another cluster
	unsaid               // another provider, or a user by hand
)

// originOf returns who made the object with an identifier.
func originOf(clusterUID, id string) origin {
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	switch {
	case err != nil || len(b) != 16 || len(id) != 36 || b[6]>>4 != 8:
		return unsaid
	case slices.Equal(b[:8], fingerprint(clusterUID)):
		return ours
	}
	return theirs
}

// keyOf returns the namespace and name of a Service, as its tag has it.
func keyOf(s *corev1.Service) string { return s.Namespace + "/" + s.Name }

// portOf returns the tag of a port.
func portOf(p corev1.ServicePort) string { return fmt.Sprintf("%s/%d", protocolOf(p), p.Port) }

// protocolOf returns the protocol of a port; TCP if it says none.
func protocolOf(p corev1.ServicePort) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

// tags returns the tags of an object, sorted by scope: the configured ones, the owner, the cluster, and more as pairs of scope and
// tag.
func (b *Balancer) tags(cluster string, more ...string) []nsx.Tag {
	all := map[string]string{scopeOwner: AppName}
	maps.Copy(all, b.cfg.Settings.Tags)
	all[scopeCluster] = cluster
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	var tags []nsx.Tag
	for _, scope := range slices.Sorted(maps.Keys(all)) {
		tags = append(tags, nsx.Tag{Scope: scope, Tag: all[scope]})
	}
	return tags
}

// owner returns the tag of the owner.
func (b *Balancer) owner() nsx.Tag {
	if name, ok := b.cfg.Settings.Tags[scopeOwner]; ok {
		return nsx.Tag{Scope: scopeOwner, Tag: name}
	}
	return nsx.Tag{Scope: scopeOwner, Tag: AppName}
}
