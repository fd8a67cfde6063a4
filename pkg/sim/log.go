package sim

import (
	"bytes"
	"log"
	"log/slog"
)

// CaptureLog sends what the standard logger of package log is told to logger, at debug level: vcsim writes to that one
// ("managed object not found", "does not implement"), and it would end up in the middle of a terminal's output. The
// standard logger is one for the whole process, so this is for the process's owner to call, once. The function that it
// returns puts things back.
func CaptureLog(logger *slog.Logger) (restore func()) {
	out, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	log.SetOutput(lines{logger})
	log.SetFlags(0)
	log.SetPrefix("")
	return func() {
		log.SetOutput(out)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	}
}

// lines makes a record of each line; package log writes whole lines.
type lines struct{ logger *slog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.logger.Debug("simulator", "line", string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}
