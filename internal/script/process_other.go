//go:build !linux

package script

import (
	"errors"
	"syscall"
	"time"
)

const canMeasure = false

func attributes() *syscall.SysProcAttr { return nil }

func yield(int) error { return nil }

type usage struct {
	memory int64
	cpu    time.Duration
}

func measure(int) (usage, error) {
	return usage{}, errors.ErrUnsupported
}
