package controlplane

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// The limits of one request. A restore of a snapshot replaces all objects in one transaction; other clients, such as the API server,
// have etcd's defaults.
const (
	usualBytes   = 1536 << 10
	usualOps     = 128
	restoreBytes = 512 << 20
	restoreOps   = 1 << 20
)

// limitRequests is a [grpc.UnaryServerInterceptor] that refuses what a stock etcd would refuse, unless the request has the metadata of
// a restore.
func limitRequests(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get(contract.EtcdRestore)) > 0 {
		return handle(ctx, req)
	}
	switch r := req.(type) {
	case *pb.PutRequest:
		if len(r.GetKey())+len(r.GetValue()) > usualBytes {
			return nil, rpctypes.ErrGRPCRequestTooLarge
		}
	case *pb.TxnRequest:
		if len(r.GetCompare()) > usualOps || len(r.GetSuccess()) > usualOps || len(r.GetFailure()) > usualOps {
			return nil, rpctypes.ErrGRPCTooManyOps
		}
		size := 0
		for _, op := range append(r.GetSuccess()[:len(r.GetSuccess()):len(r.GetSuccess())], r.GetFailure()...) {
			if put := op.GetRequestPut(); put != nil {
				size += len(put.GetKey()) + len(put.GetValue())
			}
		}
		if size > usualBytes {
			return nil, rpctypes.ErrGRPCRequestTooLarge
		}
	}
	return handle(ctx, req)
}
