package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/protosanitizer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// observed tells of calls that ended.
func observed(observe func(method, code string, took time.Duration)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if observe == nil {
			return next(ctx, r)
		}
		began := time.Now()
		answer, err := next(ctx, r)
		observe(path.Base(info.FullMethod), status.Code(err).String(), time.Since(began))
		return answer, err
	}
}

// bounded ends calls for which nobody else has set an end.
func bounded(limit time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, ok := ctx.Deadline(); ok {
			return next(ctx, r)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return next(ctx, r)
	}
}

// recovered makes a panic the failure of one call.
func recovered(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if p := recover(); p != nil {
				method := path.Base(info.FullMethod)
				log.Error("call panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				answer, err = nil, status.Errorf(codes.Internal, "%s: a mistake of the driver, whose log has the stack: %v", method, p)
			}
		}()
		return next(ctx, r)
	}
}

// logged tells of a call when it ends: what changes something at Info, what only asks at Debug, and what went wrong louder
// than that.
func logged(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		method := path.Base(info.FullMethod)
		log.Debug("call began", "method", method, "request", text{r})
		began := time.Now()
		answer, err := next(ctx, r)
		// Ordinary pairs: klog's handler, which is behind most loggers here, forgets what With was given.
		pairs := slices.Concat([]any{"method", method}, subject(r), []any{"seconds", time.Since(began).Seconds()})
		switch code := status.Code(err); {
		case err == nil && asks(method):
			log.Debug("call done", append(pairs, "answer", text{answer})...)
		case err == nil:
			log.Info("call done", pairs...)
		case code == codes.Internal || code == codes.Unknown:
			log.Error("call failed", append(pairs, "code", code.String(), "err", status.Convert(err).Message())...)
		default:
			log.Warn("call refused", append(pairs, "code", code.String(), "err", status.Convert(err).Message())...)
		}
		return answer, err
	}
}

// asks says that a method changes nothing.
func asks(method string) bool {
	return strings.Contains(method, "Get") || strings.HasPrefix(method, "List") || strings.HasPrefix(method, "Validate") || method == "Probe"
}

// subject is the ids in a request.
func subject(r any) (pairs []any) {
	add := func(key, value string) {
		if value != "" {
			pairs = append(pairs, key, value)
		}
	}
	if r, ok := r.(interface{ GetName() string }); ok {
		add("name", r.GetName())
	}
	if r, ok := r.(interface{ GetVolumeId() string }); ok {
		add("volume", r.GetVolumeId())
	}
	if r, ok := r.(interface{ GetSourceVolumeId() string }); ok {
		add("volume", r.GetSourceVolumeId())
	}
	if r, ok := r.(interface{ GetSnapshotId() string }); ok {
		add("snapshot", r.GetSnapshotId())
	}
	if r, ok := r.(interface{ GetNodeId() string }); ok {
		add("node", r.GetNodeId())
	}
	return pairs
}

// text is a message in words, without the fields that CSI marks as secret. It is made when it is written only.
type text struct{ message any }

func (t text) LogValue() slog.Value {
	return slog.StringValue(protosanitizer.StripSecrets(t.message).String())
}
