// Package objects saves the objects of an API server, which are keys of its etcd, and restores them.
//
// Floor 0.
package objects

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// object is a key of etcd as a snapshot has it, a line of JSON.
type object struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
	// Leased: the API server gave it a time to live, as it does Events.
	Leased bool `json:"leased,omitempty"`
}

const (
	// registry has the keys of the cluster, supervisor those of a Supervisor's API server in the same etcd.
	registry   = "/registry/"
	supervisor = "/supervisor/"
	// page is how many keys are read at once.
	page = 1000
	// ttl is the time to live of restored objects that had one: the API server's for Events.
	ttl = time.Hour
)

// transient lists the keys that belong to running processes: heartbeats of nodes, leases of components and of the API server, and the
// endpoint of the API server. A snapshot has them; a restore leaves the present ones alone.
func transient(key string) bool {
	for _, prefix := range []string{
		"leases/kube-node-lease/", "leases/kube-system/", "masterleases/", "services/endpoints/default/kubernetes", "endpointslices/default/kubernetes",
	} {
		if strings.HasPrefix(key, registry+prefix) || strings.HasPrefix(key, supervisor+prefix) {
			return true
		}
	}
	return false
}

// each calls f with every key at one revision, in their order.
func each(ctx context.Context, client *clientv3.Client, f func(object) error) error {
	revision := int64(0)
	for _, prefix := range []string{registry, supervisor} {
		for from, more := prefix, true; more; {
			answer, err := client.Get(ctx, from,
				clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(page), clientv3.WithRev(revision))
			if err != nil {
				return fmt.Errorf("etcd: %w", err)
			}
			if revision == 0 {
				revision = answer.Header.Revision
			}
			for _, kv := range answer.Kvs {
				if err := f(object{Key: string(kv.Key), Value: kv.Value, Leased: kv.Lease != 0}); err != nil {
					return err
				}
				from = string(kv.Key) + "\x00"
			}
			more = answer.More
		}
	}
	return nil
}

// WriteDefinitions writes resource definitions of a Supervisor's API server, by their names, for [Restore]. They are JSON, as an API
// server stores them.
func WriteDefinitions(w io.Writer, all map[string][]byte) error {
	encoder := json.NewEncoder(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := encoder.Encode(object{Key: supervisor + "apiextensions.k8s.io/customresourcedefinitions/" + name, Value: all[name]}); err != nil {
			return err
		}
	}
	return nil
}

// Save writes all objects, as they are at one revision, for [Restore]. It returns how many there are.
func Save(ctx context.Context, client *clientv3.Client, w io.Writer) (n int, err error) {
	encoder := json.NewEncoder(w)
	err = each(ctx, client, func(o object) error {
		n++
		return encoder.Encode(o)
	})
	return n, err
}

// Restore makes the objects those that [Save] wrote, in one transaction: watchers get the changes like any others, in one step, and
// after an error nothing has changed. The revision continues: objects that were changed since have another resourceVersion than when
// they were saved, and everything else as it was.
//
// Each watch of an API server gets its part at another time. A controller that runs may see a claim before its volume; one
// that has a token of a ServiceAccount that comes back with another UID is refused until it asks for another token. So the objects of
// another cluster are restored before the API server starts.
func Restore(ctx context.Context, client *clientv3.Client, r io.Reader) error {
	wanted := map[string]object{}
	for d := json.NewDecoder(bufio.NewReader(r)); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("saved objects: %w", err)
		}
		if !transient(o.Key) {
			wanted[o.Key] = o
		}
	}
	if len(wanted) == 0 {
		return errors.New("saved objects: the file is empty")
	}
	var ops []clientv3.Op
	err := each(ctx, client, func(o object) error {
		want, kept := wanted[o.Key]
		switch {
		case transient(o.Key):
		case !kept:
			ops = append(ops, clientv3.OpDelete(o.Key))
		case bytes.Equal(want.Value, o.Value):
			delete(wanted, o.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	lease := clientv3.NoLease
	for _, o := range wanted {
		var options []clientv3.OpOption
		if o.Leased {
			if lease == clientv3.NoLease {
				granted, err := client.Grant(ctx, int64(ttl.Seconds()))
				if err != nil {
					return fmt.Errorf("etcd: %w", err)
				}
				lease = granted.ID
			}
			options = append(options, clientv3.WithLease(lease))
		}
		ops = append(ops, clientv3.OpPut(o.Key, string(o.Value), options...))
	}
	if len(ops) == 0 {
		return nil
	}
	ctx = metadata.AppendToOutgoingContext(ctx, contract.EtcdRestore, "1")
	if _, err := client.Txn(ctx).Then(ops...).Commit(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}
