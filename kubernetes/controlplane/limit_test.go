package controlplane

import (
	"context"
	"errors"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

func TestLimitOfRequests(t *testing.T) {
	large := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Value: make([]byte, usualBytes+1)}}}
	small := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Value: []byte("a")}}}
	restores := metadata.NewIncomingContext(t.Context(), metadata.Pairs(contract.EtcdRestore, "1"))
	for name, tc := range map[string]struct {
		request any
		want    error
	}{
		"put":            {&pb.PutRequest{Value: []byte("a")}, nil},
		"large put":      {&pb.PutRequest{Value: make([]byte, usualBytes+1)}, rpctypes.ErrGRPCRequestTooLarge},
		"transaction":    {&pb.TxnRequest{Success: []*pb.RequestOp{small}, Failure: []*pb.RequestOp{small}}, nil},
		"large success":  {&pb.TxnRequest{Success: []*pb.RequestOp{large}}, rpctypes.ErrGRPCRequestTooLarge},
		"large failure":  {&pb.TxnRequest{Failure: []*pb.RequestOp{large}}, rpctypes.ErrGRPCRequestTooLarge},
		"many in one":    {&pb.TxnRequest{Success: make([]*pb.RequestOp, usualOps+1)}, rpctypes.ErrGRPCTooManyOps},
		"something else": {&pb.RangeRequest{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			handle := func(context.Context, any) (any, error) { return nil, nil }
			if _, err := limitRequests(t.Context(), tc.request, nil, handle); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if _, err := limitRequests(restores, tc.request, nil, handle); err != nil {
				t.Errorf("a restore: %v", err)
			}
		})
	}
}
